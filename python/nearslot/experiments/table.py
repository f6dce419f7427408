"""Rows of runs, one for each point of a grid and seed, and what is computed of them by seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..running import compare
from ..runs import Run
from ..scenario import Scenario
from .verdict import Mean, Where

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A point of a grid.

    Attributes:
        marks: What its rows say of it.
        run: Its rows for some seeds.
    """

    marks: Where
    run: Callable[[Sequence[int]], list[Row]]

    def fits(self, where: Where) -> bool:
        """Whether this point has these marks."""
        return all(key in self.marks and self.marks[key] == value for key, value in where.items())

    def measure(self, seeds: Sequence[int]) -> list[Row]:
        """Its rows, each with the marks of the point."""
        return [{**self.marks, **row} for row in self.run(seeds)]


def simulated(
    marks: Where,
    scenario: Scenario,
    numbers: Callable[[Run], Mapping[str, object]],
    *,
    series: bool = False,
) -> Cell:
    """A point that is a scenario; it has one row for each seed."""

    def run(seeds: Sequence[int]) -> list[Row]:
        # That a queue grows is a result of the experiment, so it must not end the run.
        compared = compare(scenario, vary={"seed": list(seeds)}, series=series, overload="run")
        found = compared.runs
        return [{"seed": seed, **numbers(one)} for seed, one in zip(seeds, found, strict=True)]

    return Cell(marks, run)


def count(of: Callable[[int], Row], seed: int, _asked: str) -> Row:
    """A row that no run makes; `_asked` says of what it is."""
    return of(seed)


def counted(marks: Where, asked: str, of: Callable[[int], Row]) -> Cell:
    """A point that is no scenario: a function of the seed makes its rows, of what `asked` says."""
    return Cell(marks, lambda seeds: [{"seed": seed, **count(of, seed, asked)} for seed in seeds])


class Table:
    """All rows of an experiment, or of one of its overheads."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Starts with these rows; `add` appends more."""
        self.rows = list(rows)
        self._columns: dict[tuple[object, ...], dict[int, Any]] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Appends rows."""
        self.rows += rows
        self._columns.clear()

    def only(self, **where: object) -> Table:
        """The rows of some points."""
        return Table(self._rows(where))

    def values(self, key: str, **where: object) -> list[Any]:
        """The values of a mark in ascending order."""
        return sorted({row[key] for row in self._rows(where) if key in row})

    def _rows(self, where: Where) -> Iterator[Row]:
        items = where.items()
        return (
            row
            for row in self.rows
            if all(key in row and row[key] == value for key, value in items)
        )

    def by_seed(self, key: str, **where: object) -> dict[int, Any]:
        """One number of a point, by seed.

        Raises:
            LookupError: There is no such point, or more than one.
        """
        memo = (key, *sorted(where.items()))
        if memo not in self._columns:
            rows = list(self._rows(where))
            found = {row["seed"]: row[key] for row in rows}
            if not rows or len(found) != len(rows):
                raise LookupError(f"{len(rows)} rows have {key} at {where}; one a seed is needed")
            self._columns[memo] = found
        return self._columns[memo]

    def mean(self, key: str, **where: object) -> Mean:
        """The mean of one number of a point over seeds."""
        return Mean.of(list(self.by_seed(key, **where).values()), [where])

    def each(self, of: Callable[..., float], *columns: tuple[str, Where]) -> Mean:
        """A function of numbers of some points, seed by seed: noise that they share cancels out."""
        found = [self.by_seed(key, **where) for key, where in columns]
        seeds = [seed for seed in found[0] if all(seed in column for column in found)]
        return Mean.of(
            [of(*(column[seed] for column in found)) for seed in seeds],
            [where for _, where in columns],
        )

    def lead(self, key: str, one: Where, other: Where, **at: object) -> Mean:
        """By which share a number of one point exceeds that of another."""
        columns = (key, {**one, **at}), (key, {**other, **at})
        return self.each(lambda above, under: above / under - 1, *columns)
