"""Rules checked on commands: they hold, and what breaks them is seen."""

from __future__ import annotations

from typing import Any

import pytest

from nearslot.experiments import ClaimVerdict
from nearslot.experiments.eager_writing import Options, rules
from nearslot.experiments.eager_writing.rules import RULES, Run
from nearslot.experiments.table import Table

OPTIONS = Options(seed=11, drive="hp-c2247a", overhead_ms=0.2)


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the cases; the experiment has them all."""
    fewer = {"WRITES": 15_000, "EVENTS": 1_200, "STATES": 6, "READS": 60}
    for name, value in fewer.items():
        monkeypatch.setattr(rules, name, value)


CHECKS = [(name, part) for name, rule in RULES.items() for part in range(len(rule.checks))]


@pytest.mark.parametrize(("name", "part"), CHECKS)
def test_a_rule_holds(name: str, part: int) -> None:
    checked = RULES[name].checks[part](OPTIONS)
    assert checked.broken == 0, checked
    assert checked.cases > 0, checked


def judged(**of_rule: int) -> dict[str, ClaimVerdict]:
    """Verdicts on rules of which some were broken so many times."""
    rows = [
        {"rule": name, "part": part, "cases": 3, "broken": of_rule.get(name, 0), "told": "looked"}
        for name, part in CHECKS
    ]
    table = Table(rows)
    return {one.id: one.judge(table).verdict for one in rules.STATEMENTS}


def test_every_rule_is_a_claim_and_half_of_one_decides_nothing() -> None:
    verdicts = judged()
    assert list(verdicts) == [f"A{number}" for number in range(1, 14)]
    untested = {name for name, verdict in verdicts.items() if verdict is ClaimVerdict.UNTESTABLE}
    assert untested == {"A9", "A11"}
    # What survives a power cut no run can tell.
    assert {name for name in verdicts if verdicts[name] is ClaimVerdict.UNDECIDED} == {"A12"}
    assert judged(A5=1)["A5"] is ClaimVerdict.FAILS
    assert judged(A12=1)["A12"] is ClaimVerdict.FAILS


def test_a_rule_without_a_case_decides_nothing() -> None:
    table = Table([{"rule": "A1", "part": 0, "cases": 0, "broken": 0, "told": "nothing"}])
    found = rules.judge("A1", table)
    assert found.verdict is ClaimVerdict.UNTESTABLE


@pytest.mark.parametrize(
    ("rule", "instead"),
    [
        # Whoever looks at one kind only does not take the nearer of both.
        ("A1", {"satf_ew": "read_first"}),
        ("A2", {"satf_ew": "fcfs"}),
        # It does what is near, whether a read waits or not.
        ("A3", {"freebw_scan": "satf_ew"}),
        ("A4", {"freebw_hybrid": "freebw_scan"}),
    ],
)
def test_another_scheduler_breaks_a_rule(
    rule: str, instead: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = rules._scenario

    def other(options: Options, place: str, sched: str = "satf_ew", **load: Any) -> Any:  # noqa: ANN401
        return real(options, place, instead.get(sched, sched), **load)

    monkeypatch.setattr(rules, "_scenario", other)
    assert RULES[rule].checks[0](OPTIONS).broken > 0


def changed(rule: str, part: int, monkeypatch: pytest.MonkeyPatch, change: Any) -> int:  # noqa: ANN401
    """Decisions against a rule once a run's rows were changed."""
    real = Run.of

    def of(scenario: Any) -> Run:  # noqa: ANN401
        done = real(scenario)
        # One command only asks how large the volume is.
        if len(done.commands) > 1:
            change(done)
        return done

    monkeypatch.setattr(Run, "of", of)
    return RULES[rule].checks[part](OPTIONS).broken


def last(done: Run, **like: object) -> dict[str, Any]:
    return next(
        one for one in reversed(done.commands) if all(one[key] == like[key] for key in like)
    )


def serve_again(done: Run) -> None:
    done.commands.append(dict(last(done, op="read")))


def come_earlier(done: Run) -> None:
    for one in done.requests:
        one["arrival_ns"] -= 1_000


def wait_behind(done: Run) -> None:
    done.delayed()[-1]["waiting"] = 1


def fix_the_place(done: Run) -> None:
    last(done, op="write")["open"] = False


def lose_a_copy(done: Run) -> None:
    done.commands.remove(done.delayed()[-1])


def write_beyond(done: Run) -> None:
    for one in done.commands[-5:]:
        one.update(op="write", request=None, lba=None, pba=0, blocks=8)


def lose_a_slot(done: Run) -> None:
    done.commands[-1]["free_slots"] -= 1


def choose_the_farther(done: Run) -> None:
    """The owners of the last two requests change places."""
    one, other = sorted(done.commands, key=lambda one: (one["request"] or 0, one["start_ns"]))[-2:]
    for key in ("drive", "begin_ns", "end_ns"):
        one[key], other[key] = other[key], one[key]


def never_force(done: Run) -> None:
    for one in done.delayed():
        one["waiting"] = 0


def always_force(done: Run) -> None:
    for one in done.delayed():
        one["waiting"] = 1


def map_later(done: Run) -> None:
    """Map sectors are written long after the slots that they free were taken."""
    for one in done.commands:
        if one["lba"] is None:
            one["end_ns"] += 1_000_000_000


@pytest.mark.parametrize(
    ("rule", "part", "change"),
    [
        ("A5", 0, serve_again),
        ("A5", 0, come_earlier),
        ("A5", 1, choose_the_farther),
        ("A6", 0, come_earlier),
        ("A6", 1, choose_the_farther),
        ("A7", 0, wait_behind),
        ("A8", 0, fix_the_place),
        ("A8", 0, lose_a_copy),
        ("A10", 0, write_beyond),
        ("A12", 0, lose_a_copy),
        ("A12", 1, never_force),
        ("A12", 1, always_force),
        ("A13", 0, lose_a_slot),
        ("A13", 1, map_later),
    ],
)
def test_what_breaks_a_rule_is_seen(
    rule: str,
    part: int,
    change: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert changed(rule, part, monkeypatch, change) > 0
