"""What README and the guide show in Python runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nearslot

REPOSITORY = Path(__file__).parents[2]


def shown(page: str, until: str | None = None) -> dict[str, object]:
    """Runs the Python blocks of a page in their order; gives the names that they leave."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    if until is not None:
        assert until in text
        text = text[: text.index(until)]
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def test_the_example_of_the_readme_runs(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mytrace.csv").write_bytes(trace.read_bytes())
    monkeypatch.chdir(tmp_path)
    results = shown("README.md")["results"]
    assert isinstance(results, nearslot.Results)
    assert len(results) == 6
    loads = [ranking.load for ranking in results.verdict.rankings]
    assert loads == ["depth=1", "depth=8", "depth=64"]
    assert capsys.readouterr().out.endswith(f"{results['satf 64'].response_ms.p99}\n")


def test_the_examples_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What comes behind needs a cluster.
    (tmp_path / "demo").symlink_to(REPOSITORY / "demo")
    monkeypatch.chdir(tmp_path)
    names = shown("docs/src/python.md", until="## Sweeps")
    assert (tmp_path / "report.html").stat().st_size > 100_000
    results = names["results"]
    assert isinstance(results, nearslot.Results)
    assert results.verdict.headline.startswith("satf wins: ")
