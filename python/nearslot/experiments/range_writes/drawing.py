"""Bars of seek, rotation and transfer upon each other, as the paper draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..table import Table
from ..verdict import Where

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARTS = {"seek_ms": "seek", "rotation_ms": "rotation", "transfer_ms": "transfer"}


def mean(table: Table, key: str, where: Where) -> float:
    """The mean of a number over seeds."""
    return table.mean(key, **where).value


def bars(panel: Axes, table: Table, *, axis: str, label: str, title: str, **where: object) -> None:
    """The parts of a write's time, a bar for each value along an axis."""
    values: list[Any] = table.values(axis, **where)
    names = [f"{value:g}" if isinstance(value, int | float) else value for value in values]
    floor = [0.0] * len(values)
    for key, name in PARTS.items():
        heights = [mean(table, key, {**where, axis: value}) for value in values]
        panel.bar(names, heights, bottom=floor, label=name)
        floor = [low + height for low, height in zip(floor, heights, strict=True)]
    panel.set_title(title, fontsize=9)
    panel.set_xlabel(label)
    panel.set_ylabel("time per write (ms)")


def ranges_and_spans(
    table: Table, titles: Mapping[str, str], spans: Sequence[str], path: Path
) -> None:
    """A row for each range, which has a title, and a column for each span."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 10), layout="constrained")
    panels = figure.subplots(len(titles), len(spans), sharey="col")
    for row, (around, title) in zip(panels, titles.items(), strict=True):
        for panel, span in zip(row, spans, strict=True):
            where = {"span": span, "within": around}
            name = f"{title}; {span}"
            bars(panel, table, axis="n", label="requests to choose from", title=name, **where)
    panels[0][-1].legend(fontsize=8)
    figure.savefig(path)
