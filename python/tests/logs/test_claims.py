"""Each claim is decided on tables of numbers, and turned by a fault; a run that gave up counts."""

from __future__ import annotations

import pytest

from claims import Claims, ClaimTests, Fault, scaled
from nearslot.experiments import ClaimVerdict
from nearslot.experiments.logs import STUDY, matrix
from nearslot.experiments.range_writes import allocator
from nearslot.experiments.table import Row, Table

HARD = {"on": allocator.DRIVES[0], "used": 0.8, "load": matrix.HOT}


def rows() -> list[Row]:
    """Ways as they should be: the log that offers is quickest, greedy moves most."""
    costs = {
        matrix.OFFERS: (4.0, 2.0, 2.0, 1.2),
        matrix.IN_ROW: (5.0, 2.5, 2.0, 1.2),
        matrix.OFFERS_GREEDY: (4.0, 2.0, 2.0, 1.4),
        matrix.GREEDY: (5.0, 2.5, 2.0, 1.4),
        matrix.RUNS: (6.0, 3.0, 1.0, 1.0),
        matrix.PAPER: (7.0, 3.0, 1.0, 1.0),
        matrix.CLASSIC: (7.0, 3.0, 1.0, 1.0),
    }
    keys = ("work_s", "waited_ms", "reread_s", "amplification")
    return [
        {
            **where,
            "way": way,
            "seed": seed,
            **{key: of * (1 + (seed - 2) * 1e-3) for key, of in zip(keys, cost, strict=True)},
            "failed": 0,
            "refused": 0,
            "unwritten": 0,
            "gave_up": 0,
        }
        for _, where in matrix.points()
        for way, cost in costs.items()
        for seed in (1, 2, 3)
    ]


CLAIMS = Claims(study=STUDY, tables={"rw-log": rows}, seeded=Table)


def ended(seeds: tuple[int, ...], **where: object) -> Fault:
    """The log gave up, so there is no time until all was written."""

    def fault(rows: list[Row]) -> None:
        for row in rows:
            if row["seed"] in seeds and all(row[mark] == of for mark, of in where.items()):
                row["gave_up"] = 1
                del row["work_s"], row["reread_s"]

    return fault


FAULTS: list[tuple[str, Fault]] = [
    ("P1", scaled("work_s", 1.3, way=matrix.OFFERS, **HARD)),
    ("P2", scaled("work_s", 1.2, way=matrix.OFFERS)),
    ("P3", scaled("waited_ms", 1.3, way=matrix.OFFERS, **HARD)),
    ("P4", scaled("reread_s", 1.03, way=matrix.OFFERS, **HARD)),
    ("P5", scaled("amplification", 1.06, way=matrix.OFFERS, **HARD)),
    ("P6", scaled("work_s", 1.5, way=matrix.IN_ROW, **HARD)),
    ("P7", scaled("work_s", 1.6, way=matrix.OFFERS, **HARD)),
    ("P8", scaled("amplification", 1.2, way=matrix.IN_ROW, **HARD)),
    ("P8", scaled("amplification", 1.2, way=matrix.OFFERS, **HARD)),
]


class TestClaims(ClaimTests):
    claims = CLAIMS
    faults = FAULTS


@pytest.mark.parametrize("seeds", [(2,), (1, 2, 3)])
@pytest.mark.parametrize("name", CLAIMS.decided)
def test_a_run_that_gave_up_counts_whatever_the_other_seeds_say(
    name: str, seeds: tuple[int, ...]
) -> None:
    way = matrix.IN_ROW if name == "P6" else matrix.OFFERS
    found = CLAIMS.judged(name, ended(seeds, way=way, **HARD))
    assert found.verdict is ClaimVerdict.FAILS
    against = [check for check in found.checks if check.verdict is ClaimVerdict.FAILS]
    assert [check.found.value for check in against if check.found] == [len(seeds)]
    assert "whose log gave up" in against[0].what


def test_what_is_told_beside_counts_runs_that_gave_up() -> None:
    assert "runs whose log gave up: 0" in CLAIMS.judged("P10").told
    told = CLAIMS.judged("P10", ended((1, 3), way=matrix.OFFERS)).told
    assert f"runs whose log gave up: {2 * len(matrix.points())}" in told


def test_the_matrix_is_that_which_was_fixed() -> None:
    assert len(matrix.points()) == 45
    assert len(matrix.READ) == 36
    assert len(matrix.OVER) == 18
