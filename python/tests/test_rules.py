"""Rules checked on commands: they hold, and what breaks them is seen."""

from __future__ import annotations

from typing import Any

import pytest

from nearslot.experiments import Options, rules
from nearslot.experiments.rules import RULES, Run

OPTIONS = Options(seed=11, drive="hp-c2247a", overhead_ms=0.2)


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the cases; the experiment has them all."""
    for name, value in {"WRITES": 15_000, "EVENTS": 1_200, "STATES": 12, "READS": 60}.items():
        monkeypatch.setattr(rules, name, value)


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.check])
def test_a_rule_holds(name: str) -> None:
    check = RULES[name].check
    assert check is not None
    checked = check(OPTIONS)
    assert checked.broken == 0, checked
    assert checked.cases > 0, checked


def test_every_rule_is_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = rules.Checked(3, 0, "something")
    for name, rule in RULES.items():
        made = rules.Rule(rule.statement, rule.check and (lambda _: checked), rule.rest)
        monkeypatch.setitem(RULES, name, made)
    claims = {claim.id: claim for claim in rules.claims(OPTIONS)}
    assert list(claims) == [f"A{number}" for number in range(1, 14)]
    assert {name for name, claim in claims.items() if claim.holds is None} == {"A9", "A11"}
    assert all(claim.note for claim in claims.values() if claim.holds is None)


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
    check = RULES[rule].check
    assert check is not None
    assert check(OPTIONS).broken > 0


def changed(rule: str, monkeypatch: pytest.MonkeyPatch, change: Any) -> int:  # noqa: ANN401
    """Decisions against a rule once a run's rows were changed."""
    real = Run.of

    def of(scenario: Any) -> Run:  # noqa: ANN401
        done = real(scenario)
        # One command only asks how large the volume is.
        if len(done.commands) > 1:
            change(done)
        return done

    monkeypatch.setattr(Run, "of", of)
    check = RULES[rule].check
    assert check is not None
    return check(OPTIONS).broken


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


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("A5", serve_again),
        ("A5", come_earlier),
        ("A6", come_earlier),
        ("A7", wait_behind),
        ("A8", fix_the_place),
        ("A8", lose_a_copy),
        ("A10", write_beyond),
        ("A12", lose_a_copy),
        ("A13", lose_a_slot),
    ],
)
def test_what_breaks_a_rule_is_seen(
    rule: str,
    change: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert changed(rule, monkeypatch, change) > 0
