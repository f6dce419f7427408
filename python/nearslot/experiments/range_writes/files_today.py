"""The file-system experiments on a drive of today: no number of them is published."""

from __future__ import annotations

from collections.abc import Mapping

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Kind
from . import files
from .files import CLASSIC, GROUP, JOINED, MINI, ORDERED, SEVERAL, WAYS, gain
from .options import Options

LOADS: Mapping[str, Mapping[str, object]] = {
    "one process": {},
    "several processes": {"processes": SEVERAL},
    "half full": {"fill": 0.5},
    "nine tenths full": {"fill": 0.9},
    "untar": {"work": "untar"},
    "postmark": {"work": "postmark", "cache_kib": 128},
}


def cells(options: Options) -> list[Cell]:
    """Each load and way of writing; mechanics alone."""
    found = []
    for name, knobs in LOADS.items():
        more = {"files": options.tree_files} if name == "untar" else {}
        found += [
            files.cell(
                options,
                {"load": name},
                way,
                {**knobs, **more},
                f"{options.modern}:model=mechanical",
            )
            for way in WAYS
        ]
    return found


def worth(table: Table) -> Found:
    """T6."""
    told = []
    for name in table.values("load"):
        mini, group = (gain(table, way, CLASSIC, load=name).value for way in (MINI, GROUP))
        order = gain(table, MINI, ORDERED, load=name).value
        joined = gain(table, MINI, JOINED, load=name).value
        took = files.seconds(table, load=name)
        told.append(
            f"{name}: mini-group {mini:+.0%}, group {group:+.0%}, mini-group to classic in order "
            f"{order:+.0%}, to classic that is joined {joined:+.0%} (s: {took})"
        )
    return Found([], "; ".join(told))


STATEMENTS = [
    Statement(
        id="T6",
        kind=Kind.INFORMATION,
        statement="What range writes are worth today to a file system",
        published="nothing",
        range="the loads of figures 9 to 11 and of table 2, mechanics alone, no write cache",
        judge=worth,
    ),
]

EXPERIMENT = Experiment(
    name="rw-files-today",
    question="What are range writes worth to a file system on a drive of today?",
    source="none: the experiments of figures 9 to 11 and table 2 on another drive",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"modern", "tree_files", "ext2_group_blocks"}),
)
