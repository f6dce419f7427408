"""Figures from outcomes: the axes of the paper, means over seeds, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .frame import Outcome
from .table import Table
from .verdict import Where


def lines(
    outcome: Outcome,
    path: Path,
    *,
    axis: str,
    label: str,
    title: str,
    names: Mapping[str, str],
    where: Where,
    logarithmic: bool = False,
) -> None:
    """Throughput of several schedulers, a panel for each overhead."""
    from matplotlib.figure import Figure

    rows = Table(outcome.runs).only(**where)
    overheads, values = rows.values("overhead_ms"), rows.values(axis)
    figure = Figure(figsize=(4.6 * len(overheads), 3.8), layout="constrained")
    panels = figure.subplots(1, len(overheads), sharey=logarithmic, squeeze=False)[0]
    for panel, overhead in zip(panels, overheads, strict=True):
        for name, marker in zip(names, "osv^D*", strict=False):
            points = _means(rows.rows, names[name], overhead, axis)
            if points:
                panel.plot(list(points), list(points.values()), marker=marker, label=name)
        panel.set_title(f"{title}; overhead {overhead:g} ms", fontsize=9)
        panel.set_xlabel(label)
        panel.grid(alpha=0.3)
        panel.set_ylim(bottom=0)
        if logarithmic:
            panel.set_xscale("log", base=2)
            panel.set_xticks(values, [f"{value:g}" for value in values])
    panels[0].set_ylabel("throughput (requests/s)")
    panels[-1].legend(fontsize=8)
    figure.savefig(path)


def _means(
    rows: list[dict[str, Any]], sched: str, overhead: float, axis: str
) -> dict[float, float]:
    """Mean throughput over seeds by the value along the axis."""
    values: dict[float, list[float]] = {}
    for row in rows:
        if row["sched"] == sched and row["overhead_ms"] == overhead:
            values.setdefault(row[axis], []).append(row["throughput_rps"])
    return {value: sum(found) / len(found) for value, found in sorted(values.items())}


def stacked(
    outcome: Outcome,
    path: Path,
    *,
    axis: str,
    label: str,
    keys: Mapping[str, str],
    where: Where,
) -> None:
    """The parts of a request's time as stacked bars along an axis, at the highest overhead."""
    from matplotlib.figure import Figure

    rows = Table(outcome.runs).only(**where)
    rows = rows.only(overhead_ms=rows.values("overhead_ms")[-1])
    values = rows.values(axis)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    panel = figure.subplots()
    floor = [0.0] * len(values)
    for key, name in keys.items():
        heights = []
        for value in values:
            chosen = [row[key] for row in rows.rows if row[axis] == value]
            heights.append(sum(chosen) / len(chosen))
        panel.bar([f"{value:g}" for value in values], heights, bottom=floor, label=name)
        floor = [low + height for low, height in zip(floor, heights, strict=True)]
    panel.set_xlabel(label)
    panel.set_ylabel("time per write (ms)")
    panel.legend(fontsize=8)
    figure.savefig(path)


def curves(
    outcome: Outcome,
    path: Path,
    *,
    axis: str,
    label: str,
    key: str,
    unit: str,
    where: Where,
    logarithmic: bool = False,
    ceiling: float | None = None,
) -> None:
    """Means over seeds of one number of every array along an axis, at the highest overhead."""
    from matplotlib.figure import Figure

    rows = Table(outcome.runs).only(**where)
    rows = rows.only(overhead_ms=rows.values("overhead_ms")[-1])

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    panel = figure.subplots()
    arrays = list(dict.fromkeys(row["array"] for row in rows.rows))
    for index, name in enumerate(arrays):
        found: dict[float, list[float]] = {}
        for row in rows.rows:
            if row["array"] == name and row[key] is not None:
                found.setdefault(row[axis], []).append(row[key])
        points = {at: sum(values) / len(values) for at, values in sorted(found.items())}
        marker, dashes = "osv^D*Px"[index % 8], ("-", "--", ":")[index // 8 % 3]
        panel.plot(list(points), list(points.values()), label=name, marker=marker, linestyle=dashes)
    if logarithmic:
        panel.set_xscale("log", base=2)
    if ceiling is not None:
        panel.set_ylim(top=ceiling)
    panel.set_ylim(bottom=0)
    panel.set_xlabel(label)
    panel.set_ylabel(unit)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=7)
    figure.savefig(path)
