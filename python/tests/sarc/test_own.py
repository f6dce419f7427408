"""The matrix is fixed and cut in two by names; claims about Mimic turn where it is behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nearslot import run
from nearslot.experiments.sarc import own
from nearslot.experiments.sarc.matrix import HALVES, OTHERS, points
from nearslot.experiments.sarc.mixes import NAMES, made
from nearslot.experiments.statement import Found
from nearslot.experiments.table import Table
from nearslot.experiments.verdict import ClaimVerdict

DRIVE = "scsi-10k-73gb"


def test_a_name_says_to_which_half_a_point_belongs() -> None:
    # Recorded traces are there in a checkout alone.
    recorded = ("postgres", "tpcc")
    drawn = (one for one in points(DRIVE, "") if one.load not in recorded)
    halves = {one.name: one.half for one in drawn}
    # By hand: the first byte of the SHA-256 is even, or odd.
    assert halves["zipf_streams disk depth=8 prefetch=sarc 1%"] == "tuning"
    assert halves["zipf_streams disk depth=1 prefetch=sarc 1%"] == "held-back"
    assert {half: list(halves.values()).count(half) for half in HALVES} == {
        "tuning": 112,
        "held-back": 104,
    }


def test_a_load_whose_span_is_a_share_of_the_drive_is_run_on_the_drive_of_the_study() -> None:
    assert any(one.load == "spc1" for one in points(DRIVE, ""))
    assert not any(one.load == "spc1" for one in points("modern-20tb", ""))


@pytest.mark.parametrize("mix", NAMES)
def test_a_mix_is_drawn_from_its_name_and_seed(mix: str) -> None:
    once = made(mix, 1, 500).read_text()
    made.cache_clear()
    assert made(mix, 1, 500).read_text() == once
    assert made(mix, 2, 500).read_text() != once


def test_a_point_runs_with_each_cache() -> None:
    named = "shifting raid5 open prefetch=sarc 30%"
    point = next(one for one in points(DRIVE, "") if one.name == named)
    for cache in (own.OWN, "lru"):
        found = run(point.scenario(1, 3_000, cache), overload="run", series=False).runs[0]
        assert found.requests > 1_000
        assert found.measures["cache"]["read_hits"] > 0


def table(ours: float, at: str = "b") -> Table:
    """Three points at which all others take 10 ms; Mimic 9, but for one of them."""
    rows = []
    for point in "abc":
        for cache in (own.OWN, *OTHERS):
            mean = 10.0 if cache != own.OWN else ours if point == at else 9.0
            for seed in (1, 2, 3):
                noisy = mean * (1 + (seed - 2) * 1e-3)
                rows.append(
                    {
                        "point": point,
                        "cache": cache,
                        "seed": seed,
                        own.MEAN: noisy,
                        own.P99: 5 * noisy,
                    }
                )
    return Table(rows)


@pytest.mark.parametrize(
    ("judge", "fault"),
    [
        (own.never_behind_sarc, 10.5),
        (own.never_behind_modern, 10.5),
        (own.ahead_on_average, 20.0),
    ],
)
def test_a_claim_holds_and_a_point_that_is_worse_turns_it(
    judge: Callable[[Table], Found], fault: float
) -> None:
    assert judge(table(10.1)).verdict is ClaimVerdict.HOLDS
    assert judge(table(fault)).verdict is ClaimVerdict.FAILS


def test_what_is_told_besides() -> None:
    assert "+11" in own.tails(table(9.0)).told
    assert own.winners(table(9.0)).told == f"{OTHERS[0]} at 3"
    assert own.bounds(table(9.0)).told == "holds at 3, does not hold at 0, undecided at 0"
    assert own.bounds(table(10.5)).told == "holds at 2, does not hold at 1, undecided at 0"
    assert own.bounds(table(9.0).only(seed=1)).told.endswith("undecided at 3")
