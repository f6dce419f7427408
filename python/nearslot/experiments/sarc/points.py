"""How all modules of the study look at their rows: one point, two policies at it, a curve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..table import Table
from ..verdict import Check, Gate, Mean, Where, missing
from .setup import FILLS, POLICIES, SHARE, STAGED, WRITTEN, Configuration

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def loads(table: Table, least: int = 0) -> list[int]:
    """The loads of a table, from one on."""
    return [load for load in table.values("load") if load >= least]


def point(of: Configuration, load: int, policy: str) -> dict[str, object]:
    """The marks of a policy at a load."""
    return {"configuration": of.name, "load": load, "policy": policy}


def lead(table: Table, key: str, one: str, other: str, of: Configuration, load: int) -> Mean:
    """By which share a policy's number exceeds that of another at a load."""
    return table.lead(key, point(of, load, one), point(of, load, other))


def filled(table: Table, *points: Where) -> bool:
    """Whether one of some caches had to let something go: until then all policies do the same."""
    return any(share for where in points for share in table.by_seed(SHARE, **where).values())


def differ(table: Table, *points: Where) -> bool:
    """Whether some points had other tracks staged, with any seed."""
    columns = [table.by_seed(STAGED, **where) for where in points]
    return any(len({column.get(seed) for column in columns}) > 1 for seed in columns[0])


def unless_unfilled(table: Table, check: Check, *points: Where) -> Check:
    """A comparison of points, unless their caches were hardly filled, so that all did the same."""
    if not filled(table, *points):
        return missing(f"{check.what}: runs are too short to fill a cache")
    if not differ(table, *points):
        return missing(f"{check.what}: runs are too short to fill a cache so far that they differ")
    return check


def check(
    table: Table, key: str, pair: tuple[str, str], gate: Gate, at: tuple[Configuration, int]
) -> Check:
    """A policy's number against that of another at a load."""
    of, load = at
    what = f"{key} of {pair[0]} against {pair[1]}, {of.name} at {load} %"
    found = Check(what, lead(table, key, *pair, of, load), gate)
    return unless_unfilled(table, found, *(point(of, load, policy) for policy in pair))


def unwritten(table: Table) -> Check | None:
    """What cannot be tested of a write buffer, if it held most of what short runs wrote."""
    least = min((row[WRITTEN] for row in table.rows if WRITTEN in row), default=None)
    if least is None or least >= FILLS:
        return None
    return missing(
        f"runs are too short: they write {least:.1f} times what a buffer holds, and with less than "
        f"{FILLS} times any buffer takes a load by holding it"
    )


def curve(table: Table, key: str, of: Configuration, policy: str) -> list[float]:
    """A policy's means of a number over all loads."""
    return [table.mean(key, **point(of, load, policy)).value for load in loads(table)]


def plot(panel: Axes, table: Table, of: Configuration, keys: tuple[str, str]) -> None:
    """A line for each policy: one number over another."""
    for policy, marker in zip(POLICIES, "osD", strict=True):
        across, up = (curve(table, key, of, policy) for key in keys)
        panel.plot(across, up, marker=marker, label=policy)
    panel.set_title(of.told, fontsize=9)
    panel.grid(alpha=0.3)


@contextmanager
def sheet(path: Path) -> Iterator[list[list[Axes]]]:
    """Four panels, saved as a figure when all is drawn."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    yield panels
    panels[0][0].legend(fontsize=8)
    figure.savefig(path)
