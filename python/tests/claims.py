"""How the claims of a study are tested: decided on tables of numbers, and turned by planted faults.

No engine runs. A study says which numbers it takes for those of each experiment and which faults
turn which claims; `ClaimTests` has the tests that follow. A fault changes some rows of a table, as
a fault of a scheduler, a policy or a drive would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from nearslot.experiments import ClaimVerdict, Kind
from nearslot.experiments.frame import Study
from nearslot.experiments.statement import Found, Statement
from nearslot.experiments.table import Row, Table

SEEDS = (1, 2, 3)

Fault = Callable[[list[Row]], None]


def seeded(rows: Iterable[Row]) -> Table:
    """Rows for some seeds; numbers with a `=` before their name differ by a thousandth."""
    found = []
    for row in rows:
        for seed in SEEDS:
            noise = 1 + (seed - 2) * 1e-3
            marks = {key: value for key, value in row.items() if not key.startswith("=")}
            numbers = {key[1:]: of * noise for key, of in row.items() if key.startswith("=")}
            found.append({**marks, "seed": seed, **numbers})
    return Table(found)


def each(change: Callable[[Row], None], **where: object) -> Fault:
    """A fault that changes the rows with these marks, one by one."""

    def fault(rows: list[Row]) -> None:
        for row in rows:
            if all(row.get(mark) == value for mark, value in where.items()):
                change(row)

    return fault


def changed(key: str, to: Callable[[Any], Any], **where: object) -> Fault:
    """A fault that changes a number wherever it is told, with or without noise."""

    def change(row: Row) -> None:
        for name in (key, f"={key}"):
            if name in row:
                row[name] = to(row[name])

    return each(change, **where)


def scaled(key: str, by: float, **where: object) -> Fault:
    """A number is so many times as large."""
    return changed(key, lambda value: value * by, **where)


def leveled(key: str, value: float, **where: object) -> Fault:
    """A number is the same everywhere."""
    return changed(key, lambda _: value, **where)


def swapped(key: str, one: str, other: str) -> Fault:
    """Two schedulers, or policies, under each other's names."""
    names = {one: other, other: one}

    def change(row: Row) -> None:
        if row.get(key) in names:
            row[key] = names[row[key]]

    return each(change)


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The claims of a study, and the numbers that decide them.

    Attributes:
        study: It.
        tables: The numbers of each experiment, by its name.
        untabled: Experiments that no table stands for, as tests of their own run them.
        seeded: Makes of these numbers what several seeds measure.
    """

    study: Study[Any]
    tables: Mapping[str, Callable[[], list[Row]]]
    untabled: frozenset[str] = frozenset()
    seeded: Callable[[list[Row]], Table] = seeded

    @cached_property
    def statements(self) -> dict[str, tuple[str, Statement]]:
        """Each statement that a table stands for, with its experiment, by its name."""
        tabled = [of for of in self.study.experiments if of.name not in self.untabled]
        return {one.id: (of.name, one) for of in tabled for one in of.statements}

    @property
    def decided(self) -> list[str]:
        """Names of those that runs decide."""
        return [
            name for name, (_, one) in self.statements.items() if one.kind is not Kind.INFORMATION
        ]

    @property
    def told(self) -> list[str]:
        """Names of those that are told for information."""
        return sorted(set(self.statements) - set(self.decided))

    def judged(self, name: str, fault: Fault | None = None) -> Found:
        """What a statement says of its numbers, with a fault."""
        home, statement = self.statements[name]
        rows = self.tables[home]()
        if fault is not None:
            fault(rows)
        return statement.judge(self.seeded(rows))


class ClaimTests:
    """The tests of the claims of a study; a study's own class says what these are.

    Attributes:
        claims: The claims.
        faults: Each with a claim that it turns.
        untestable: Claims that no run can decide.
        half_tested: Claims of which no run can decide a part.
        without_fault: Claims that none of the faults turns; each says why where it is named.
    """

    claims: Claims
    faults: Sequence[tuple[str, Fault]]
    untestable: frozenset[str] = frozenset()
    half_tested: frozenset[str] = frozenset()
    without_fault: frozenset[str] = frozenset()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Gives each test the claims, or faults, that it is about."""
        if "fault" in metafunc.fixturenames:
            names = [name for name, _ in self.faults]
            ids = [f"{name}-{at}" for at, name in enumerate(names)]
            metafunc.parametrize(("name", "fault"), self.faults, ids=ids)
        elif "decided" in metafunc.fixturenames:
            metafunc.parametrize("decided", self.claims.decided)
        elif "told" in metafunc.fixturenames:
            metafunc.parametrize("told", self.claims.told)

    def test_a_claim_holds_on_numbers_that_are_as_it_says(self, decided: str) -> None:
        found = self.claims.judged(decided)
        if decided in self.untestable:
            assert found.verdict is ClaimVerdict.UNTESTABLE
        elif decided in self.half_tested:
            verdicts = {check.verdict for check in found.checks}
            assert verdicts == {ClaimVerdict.HOLDS, ClaimVerdict.UNTESTABLE}
            assert found.verdict is ClaimVerdict.UNDECIDED
        else:
            against = [one for one in found.checks if one.verdict is not ClaimVerdict.HOLDS]
            assert found.verdict is ClaimVerdict.HOLDS, [check.told() for check in against]

    def test_what_is_for_information_is_told(self, told: str) -> None:
        found = self.claims.judged(told)
        assert found.told
        assert not found.checks

    def test_a_fault_turns_a_claim(self, name: str, fault: Fault) -> None:
        assert self.claims.judged(name, fault).verdict is ClaimVerdict.FAILS

    def test_every_claim_that_can_be_tested_has_a_fault(self) -> None:
        testable = set(self.claims.decided) - self.untestable - self.without_fault
        assert {name for name, _ in self.faults} == testable

    def test_a_statement_has_a_name_of_its_own_and_numbers(self) -> None:
        experiments = self.claims.study.experiments
        names = [one.id for of in experiments for one in of.statements]
        assert len(names) == len(set(names))
        homes = {of.name for of in experiments if of.statements}
        assert homes == set(self.claims.tables) | self.claims.untabled
