"""The file-system experiments in one place: ways of writing, loads, and what runs tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...runs import Run
from ...scenario import Scenario, part
from ..statement import Found
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Gate, Mean, Where
from . import setup
from .options import Options

CLASSIC, ORDERED, JOINED = "classic", "classic, in order", "classic, joined"
MINI, GROUP = "mini-group", "group"
WAYS: Mapping[str, Mapping[str, object]] = {
    CLASSIC: {"offer": "none"},
    ORDERED: {"offer": "none", "ordered": "true"},
    JOINED: {"offer": "none"},
    MINI: {"offer": "mini-group"},
    GROUP: {"offer": "group"},
}
"""Who chooses the place of a block, and within what.

The policy of ext2 names a mini-group, so this decides. Range writes have pointers go behind what
they point to; with `ORDERED` classic writes have that, too, and the places alone differ. With
`JOINED` the block layer joins what waits and lies side by side to one command, also of different
files, which a simulator of a drive does not, and which no range writes can have.
"""

ONE, SEVERAL = 1, 16
"""Processes: as many as there are mini-groups stands for several."""

MINIS = tuple(f"mini_{number}" for number in range(16))
SOURCE = setup.SOURCE


def numbers(run: Run) -> Row:
    """What a run tells of its mean write and of its file system."""
    told = run.measures["filesystem"]
    return {**setup.numbers(run), **told}


def cell(
    options: Options, marks: Where, way: str, knobs: Mapping[str, object], on: str = ""
) -> Cell:
    """A point of a grid: a load written in one way, on the drive of the paper or another."""
    chosen = {**WAYS[way], "group_blocks": options.ext2_group_blocks, **knobs}
    word = part("filesystem", **{key: str(value) for key, value in chosen.items()})
    scenario = Scenario(
        workload=word,
        drive=on or setup.drive(options),
        sched="satf",
        merge="contiguous" if way == JOINED else "none",
    )
    return simulated({**marks, "way": way}, scenario, numbers)


def gain(table: Table, way: str, base: str, **where: object) -> Mean:
    """By which share the work takes longer with another way of writing."""
    return table.lead("work_s", {"way": base}, {"way": way}, **where)


Judge = Callable[[Table, str, str], Found]
"""Decides a claim on one way of writing, held against another."""

BESIDE: Sequence[tuple[str, str, str]] = (
    ("offered the group", GROUP, CLASSIC),
    ("to classic writes in order", MINI, ORDERED),
    ("to classic writes that are joined", MINI, JOINED),
)


def by_policy(judge: Judge) -> Callable[[Table], Found]:
    """Decides on what the policy leaves open, held against classic writes; tells of the others."""

    def judged(table: Table) -> Found:
        found = judge(table, MINI, CLASSIC)
        told = []
        for name, way, base in BESIDE:
            other = judge(table, way, base)
            checks = "; ".join(check.told() for check in other.checks)
            told.append(f"{name} it {setup.says(other)}: {checks}")
        outside = "; ".join(filter(None, (found.outside, *told)))
        return replace(found, outside=outside)

    return judged


def gained(
    table: Table, way: str, base: str, gates: Mapping[str, tuple[Where, Gate]]
) -> list[Check]:
    """The gain at some points, each with its gate."""
    return [
        Check(f"{name}: gain", gain(table, way, base, **where), gate)
        for name, (where, gate) in gates.items()
    ]


def seconds(table: Table, **where: object) -> str:
    """Seconds that the work takes, by way."""
    took = (f"{way} {table.mean('work_s', way=way, **where).value:.3g}" for way in WAYS)
    return ", ".join(took)


def lines(table: Table, axis: str, label: str, path: Path) -> None:
    """Seconds of the work along an axis, a line for each way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.8), layout="constrained")
    panel = figure.subplots()
    values = table.values(axis)
    for way in WAYS:
        took = [table.mean("work_s", way=way, **{axis: value}).value for value in values]
        panel.plot([100 * value for value in values], took, marker="o", label=way)
    panel.set_xlabel(label)
    panel.set_ylabel("time (s)")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)
    figure.savefig(path)
