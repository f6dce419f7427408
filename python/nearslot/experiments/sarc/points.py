"""How all modules of the study look at their rows: one point, two policies at it, a curve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..table import Table
from ..verdict import Check, Gate, Mean
from .setup import POLICIES, Configuration

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


def check(
    table: Table, key: str, pair: tuple[str, str], gate: Gate, at: tuple[Configuration, int]
) -> Check:
    """A policy's number against that of another at a load."""
    of, load = at
    what = f"{key} of {pair[0]} against {pair[1]}, {of.name} at {load} %"
    return Check(what, lead(table, key, *pair, of, load), gate)


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
