"""Figures 9 and 10: a thousand files in an empty group, by one process and by several."""

from __future__ import annotations

from pathlib import Path

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, at_most, below, exactly, within
from . import files
from .drawing import bars, mean
from .files import CLASSIC, GROUP, JOINED, MINI, MINIS, ONE, ORDERED, SEVERAL, WAYS, by_policy, gain
from .options import Options

SHIFT_MOST = 0.05


def cells(options: Options) -> list[Cell]:
    """One process and several, each way of writing."""
    return [
        files.cell(options, {"processes": count}, way, {"processes": count})
        for count in (ONE, SEVERAL)
        for way in WAYS
    ]


def little(table: Table, way: str, base: str) -> Found:
    """D1."""
    found = gain(table, way, base, processes=ONE)
    told = f"s: {files.seconds(table, processes=ONE)}"
    return Found([Check("one process: gain", found, within(-0.05, 0.05))], told)


def clearly(table: Table, way: str, base: str) -> Found:
    """D2."""
    at = {"processes": SEVERAL}
    shares = {
        name: table.lead(key, {"way": way}, {"way": base}, **at)
        for key, name in {"work_s": "time", "seek_ms": "seek", "rotation_ms": "rotation"}.items()
    }
    gates = {"time": at_most(-0.2), "seek": below(0.0), "rotation": below(0.0)}
    checks = [Check(f"{SEVERAL}: {name}", shares[name], gate) for name, gate in gates.items()]
    return Found(checks, f"s: {files.seconds(table, **at)}")


def shift(table: Table, way: str, base: str, processes: int) -> Mean:
    """The total-variation distance between the mini-groups of files."""

    def distance(*counts: float) -> float:
        one, other = counts[: len(MINIS)], counts[len(MINIS) :]
        all_of_one, all_of_other = sum(one) or 1.0, sum(other) or 1.0
        pairs = zip(one, other, strict=True)
        return sum(abs(a / all_of_one - b / all_of_other) for a, b in pairs) / 2

    columns = [(name, {"way": of, "processes": processes}) for of in (way, base) for name in MINIS]
    return table.each(distance, *columns)


def alike(table: Table, way: str, base: str) -> Found:
    """D3."""
    checks = [
        Check(f"{count}: distance", shift(table, way, base, count), at_most(SHIFT_MOST))
        for count in (ONE, SEVERAL)
    ]
    return Found(checks)


def data_alone(table: Table) -> Found:
    """D10: a file here has no indirect block, so what is offered is data."""
    checks = []
    for way in (MINI, GROUP):
        for count in (ONE, SEVERAL):
            at = {"way": way, "processes": count}
            beyond = table.each(lambda a, b: a - b, ("offered", at), ("data_writes", at))
            name = f"{way}, {count}: range writes beyond writes of data"
            checks.append(Check(name, beyond, at_most(0.0)))
            made = table.each(lambda a, b: a - b, ("offered", at), ("files", at))
            checks.append(Check(f"{way}, {count}: beyond files made", made, within(0, 10)))
    for way in (CLASSIC, ORDERED, JOINED):
        offered = sum(row.get("offered", 0) for row in table.only(way=way).rows)
        checks.append(exactly(f"{way}: range writes", offered, within(0, 0)))
    return Found(checks)


STATEMENTS = [
    Statement(
        id="D1",
        kind=Kind.ORDER,
        statement="In an empty group one process gains little from range writes",
        published="figure 9, no number",
        range="1,000 files of 4 KiB; gate of our own: within 5 % of the time",
        judge=by_policy(little),
    ),
    Statement(
        id="D2",
        kind=Kind.ORDER,
        statement="With several processes seek and rotation are clearly lower",
        published="figure 9, no number",
        range=f"{SEVERAL} processes; gate of our own: a fifth of the time",
        judge=by_policy(clearly),
    ),
    Statement(
        id="D3",
        kind=Kind.ORDER,
        statement="Files lie in the mini-groups where classic writes have them",
        published="figure 10, no number",
        range=f"one process and {SEVERAL}; total-variation distance up to {SHIFT_MOST}, our own",
        judge=by_policy(alike),
    ),
    Statement(
        id="D10",
        kind=Kind.ORDER,
        statement="Inodes are not range-written, data are",
        published="section 6",
        range="counts of requests; the engine's own tests look at each",
        judge=data_alone,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Parts of a write's time above, files by mini-group below."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    figure = Figure(figsize=(10, 7), layout="constrained")
    above, below_ = figure.subplots(2, 2)
    for panel, histogram, count in zip(above, below_, (ONE, SEVERAL), strict=True):
        title = f"{count} process{'es' if count > 1 else ''}"
        bars(panel, table, axis="way", label="", title=title, processes=count)
        panel.tick_params(axis="x", labelrotation=15, labelsize=8)
        width = 0.8 / len(WAYS)
        for index, way in enumerate(WAYS):
            where = {"way": way, "processes": count}
            heights = [mean(table, name, where) for name in MINIS]
            left = [number + index * width for number in range(len(MINIS))]
            histogram.bar(left, heights, width, label=way)
        histogram.set_xlabel("mini-group")
        histogram.set_ylabel("files")
    above[0].legend(fontsize=8)
    below_[0].legend(fontsize=8)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="rw-fig9-10",
    question="What do range writes gain in an empty group, and where do files lie then?",
    source=f"{files.SOURCE}, figures 9 and 10",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=frozenset({"drive", "command_ms", "ext2_group_blocks"}),
)
