"""One way of doing something held against another, in the cells of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import Table
from .verdict import Mean, Where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[str, Where]
"""The name of a cell, and its marks."""


def longer(table: Table, key: str, where: Where, *, way: str, base: str) -> Mean:
    """By which share a number of one way is above that of another."""
    return table.lead(key, {"way": way}, {"way": base}, **where)


def on_average(table: Table, key: str, all_: Sequence[Point], *, way: str, base: str) -> Mean:
    """The same as a geometric mean over cells, by those seeds that all of them have."""
    columns = [(key, {**where, "way": one}) for one in (way, base) for _, where in all_]

    def mean(*values: float) -> float:
        theirs, ours = values[: len(all_)], values[len(all_) :]
        logs = (math.log(one / own) for one, own in zip(theirs, ours, strict=True))
        return math.exp(sum(logs) / len(all_)) - 1

    return table.each(mean, *columns)


def spread(leads: Sequence[tuple[float, str]], mean: float) -> str:
    """In how many cells a number is above another, its mean lead, the least and the most."""
    (least, of_least), (most, of_most) = min(leads), max(leads)
    count = sum(lead > 0 for lead, _ in leads)
    return (
        f"in {count} of {len(leads)} cells, by {mean:+.1%} on average, "
        f"from {least:+.1%} ({of_least}) to {most:+.1%} ({of_most})"
    )


def dots(
    panel: Axes, shown: Sequence[tuple[str, Sequence[float]]], *, label: str, title: str
) -> None:
    """Times of several ways to those of one: a row for each, a dot for each cell."""
    for row, (_, times) in enumerate(shown):
        panel.plot(times, [row] * len(times), "o", alpha=0.4)
    panel.axvline(1, color="black", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yticks(range(len(shown)), [way for way, _ in shown])
    panel.set_xlabel(label)
    panel.set_title(title, fontsize=9)
