"""The one function that decides claims: both sides of every kind of gate, and straddling it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from nearslot.errors import ConfigError
from nearslot.experiments.frame import NAME_MAX, Claim, summary
from nearslot.experiments.verdict import (
    Check,
    ClaimVerdict,
    Gate,
    Kind,
    Mean,
    above,
    at_least,
    at_most,
    below,
    decide,
    exactly,
    missing,
    together,
    within,
)

HOLDS, FAILS = ClaimVerdict.HOLDS, ClaimVerdict.FAILS
UNDECIDED, UNTESTABLE = ClaimVerdict.UNDECIDED, ClaimVerdict.UNTESTABLE


@pytest.mark.parametrize(
    ("gate", "value", "ci", "verdict"),
    [
        (at_least(1.0), 1.2, 0.1, HOLDS),
        (at_least(1.0), 0.8, 0.1, FAILS),
        (at_least(1.0), 1.05, 0.1, UNDECIDED),
        (at_least(1.0), 0.95, 0.1, UNDECIDED),
        (at_most(1.0), 0.8, 0.1, HOLDS),
        (at_most(1.0), 1.2, 0.1, FAILS),
        (at_most(1.0), 1.0, 0.1, UNDECIDED),
        # Gates bind both ways: too much is no more right than too little.
        (within(1.7, 2.5), 2.0, 0.1, HOLDS),
        (within(1.7, 2.5), 1.5, 0.1, FAILS),
        (within(1.7, 2.5), 2.7, 0.1, FAILS),
        (within(1.7, 2.5), 1.7, 0.1, UNDECIDED),
        (within(1.7, 2.5), 2.5, 0.1, UNDECIDED),
        (within(1.7, 2.5), 2.1, 5.0, UNDECIDED),
        # An exact value needs no room, and a strict gate leaves out its limit.
        (at_least(0.0), 0.0, 0.0, HOLDS),
        (above(0.0), 0.0, 0.0, FAILS),
        (below(0.0), 0.0, 0.0, FAILS),
        (above(0.0), 0.2, 0.2, UNDECIDED),
        (below(0.0), -0.3, 0.2, HOLDS),
        # What a single seed found decides nothing, however far off.
        (at_least(1.0), 100.0, None, UNDECIDED),
        (at_least(1.0), -100.0, None, UNDECIDED),
    ],
)
def test_an_interval_is_held_against_a_gate(
    gate: Gate, value: float, ci: float | None, verdict: ClaimVerdict
) -> None:
    assert decide(Mean(value, ci), gate) is verdict


def test_nothing_is_decided_about_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="nan"):
        decide(Mean(math.nan, 0.1), at_least(0.0))


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, FAILS], FAILS),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([UNDECIDED, FAILS], FAILS),
        # A claim half decided is undecided, unless the half that is decided speaks against it.
        ([HOLDS, UNTESTABLE], UNDECIDED),
        ([UNTESTABLE, FAILS], FAILS),
        ([UNTESTABLE, UNTESTABLE], UNTESTABLE),
        ([], UNTESTABLE),
    ],
)
def test_parts_make_one_verdict(parts: list[ClaimVerdict], verdict: ClaimVerdict) -> None:
    assert together(parts) is verdict


def test_a_single_seed_has_no_interval() -> None:
    assert Mean.of([1.0]).ci is None
    assert Mean.of([1.0, 2.0, 3.0]).ci == pytest.approx(4.303 / 3**0.5)
    assert Mean.of([0.1, 0.1, 0.1]) == Mean.exact(0.1)
    with pytest.raises(ConfigError, match="at most 31"):
        Mean.of([1.0] * 40)


def test_a_check_tells_what_it_is_held_against() -> None:
    check = Check("this against that", Mean(-0.062, 0.004), within(-0.1, 0.05))
    assert check.told() == "this against that: -6.2 ± 0.4 % (holds from -10 % to +5 %)"
    assert exactly("breaches", 2, within(0, 0)).verdict is FAILS
    assert missing("a power cut").verdict is UNTESTABLE
    assert missing("a power cut").leans is None


def test_kinds_are_counted_apart_and_quick_runs_are_provisional() -> None:
    def claim(kind: Kind, verdict: ClaimVerdict | None, provisional: bool = False) -> Claim:
        return Claim(
            id="X",
            kind=kind,
            statement="s",
            published="p",
            range="r",
            found="f",
            verdict=verdict,
            provisional=provisional,
        )

    told = summary(
        [
            claim(Kind.NUMBER, HOLDS),
            claim(Kind.ORDER, HOLDS),
            claim(Kind.ORDER, UNDECIDED),
            claim(Kind.FORMULA, FAILS),
            claim(Kind.OWN, UNTESTABLE),
            claim(Kind.INFORMATION, None),
        ]
    )
    rows = {line[:26].strip(): line[26:].split() for line in told.splitlines()}
    assert rows["published with a number"] == ["1", "0", "0", "0"]
    assert rows["published without a number"] == ["1", "0", "1", "0"]
    assert rows["formula only"] == ["0", "1", "0", "0"]
    assert rows["our own"] == ["0", "0", "0", "1"]
    assert rows["information"][0] == "1"
    listed = told.splitlines()[6:]
    each = [f"{found}:\n  X        s" for found in ("does not hold", "undecided", "not testable")]
    assert listed == "\n".join(each).splitlines()
    long = replace(claim(Kind.OWN, FAILS), id="V10", statement="far more words " * 20)
    named = summary([long]).splitlines()[-1]
    assert named.startswith("  V10      far more words")
    assert len(named) <= 11 + NAME_MAX
    assert "provisional" not in told
    assert "provisional" in summary([claim(Kind.ORDER, HOLDS, provisional=True)])
    assert claim(Kind.ORDER, HOLDS, provisional=True).says == "holds, provisional"
