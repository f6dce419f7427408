"""What README shows in Python runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nearslot

README = Path(__file__).parents[2] / "README.md"


def test_the_example_of_the_readme_runs(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (trace.parent / "mytrace.csv").write_bytes(trace.read_bytes())
    monkeypatch.chdir(trace.parent)
    shown = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert shown
    names: dict[str, object] = {}
    for block in shown:
        exec(compile(block, str(README), "exec"), names)
    results = names["results"]
    assert isinstance(results, nearslot.Results)
    assert len(results) == 6
    loads = [ranking.load for ranking in results.verdict.rankings]
    assert loads == ["depth=1", "depth=8", "depth=64"]
