"""The models of eager writing against a Monte Carlo of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nearslot.experiments import ClaimVerdict
from nearslot.experiments.__main__ import main
from nearslot.experiments.eager_writing import models as of_models
from nearslot.experiments.table import Row, Table

SMALL = ["--quick", "--requests", "1500", "--seeds", "2", "--overhead-ms", "0.6"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes of the models."""
    out = tmp_path_factory.mktemp("models")
    # Of two seeds every part but those far from their gates is undecided.
    assert main(["run", "ew-models", *SMALL, "--seeds", "3", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def models(folder: Path) -> list[Row]:
    """Its rows."""
    rows: list[Row] = json.loads((folder / "ew-models.json").read_text())["runs"]
    return rows


def test_the_models_are_decided_and_drawn(folder: Path) -> None:
    found = json.loads((folder / "ew-models.json").read_text())
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert set(claims) == {f"B{number}" for number in range(1, 8)}
    assert {claim["kind"] for claim in claims.values()} == {"formula only"}
    # Of its formulas that of the mirror is off: its arms share the target.
    assert claims["B6"]["verdict"] == "does not hold"
    failed = [part for part in claims["B6"]["checks"] if part["verdict"] == "does not hold"]
    assert all(part["what"].startswith("seek, mirror at") for part in failed)
    assert "Monte Carlo" in (folder / "ew-models.svg").read_text()


@pytest.mark.parametrize(
    ("name", "claim", "spoil"),
    [
        ("B1", "B1", lambda at, found: found * 1.03),
        ("B2", "B1", lambda at, found: found + 0.2),
        ("B3", "B3", lambda at, found: found * (1.08 if at == 0.5 else 1)),
        ("B4", "B4", lambda at, found: found * (1.2 if at == 8 else 1)),
        ("B5", "B5", lambda at, found: 1.0 + at),
        ("B5", "B5", lambda at, found: 0.2),
        ("B6", "B6", lambda at, found: found * 0.95),
        ("B7", "B7", lambda at, found: 1 / at),
        ("B7", "B7", lambda at, found: 5.0),
    ],
)
def test_a_model_that_is_off_does_not_hold(
    name: str, claim: str, spoil: Callable[[float, float], float], models: list[Row]
) -> None:
    rows = [row for row in models if not row["series"].startswith("seek, mirror")]
    (statement,) = (one for one in of_models.STATEMENTS if one.id == name)
    assert statement.judge(Table(rows)).leans is True
    assert statement.judge(Table(rows)).verdict in (ClaimVerdict.HOLDS, ClaimVerdict.UNDECIDED)
    spoiled = [
        {**row, "found": spoil(row["at"], row["found"])} if row["claim"] == claim else row
        for row in rows
    ]
    assert statement.judge(Table(spoiled)).verdict is ClaimVerdict.FAILS


def test_models_are_written_out() -> None:
    # By the recurrence: the first is free with k/n, else one is skipped.
    assert of_models.on_track(3, 1) == 2 / 3 * (1 + 1 / 2)
    assert of_models.on_track(256, 51) == pytest.approx(3.94, abs=0.01)
    assert of_models.in_cylinder(0.5) == pytest.approx(0.96875, abs=1e-5)
    assert of_models.until_left([1.0] * 26, 24) == pytest.approx(
        (of_models.SWITCH_MS + 2 * of_models.SLOT_MS) / 2
    )
