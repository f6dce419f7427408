"""Figures 1b and 1c: what reads cost as copies or striping grow, no queue."""

from __future__ import annotations

import tomllib
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...parts import list_parts
from ..figures import stacked
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, above, at_least, below, within
from . import arrays
from .arrays import mirror, stripe
from .options import Options

COPIES = (1, 2, 3, 4, 5, 6)
STRIPES = (1, 2, 3, 4, 6, 9, 12, 18)
READS = {"op": "read"}
WRITES = {"op": "write"}


def _curve(table: Table, key: str) -> str:
    means = (
        table.mean(key, factor=factor, **READS).value for factor in table.values("factor", **READS)
    )
    return f"{key.removesuffix('_ms')} {' '.join(f'{value:.2f}' for value in means)}"


def _falls(table: Table, key: str) -> list[Check]:
    name = key.removesuffix("_ms")
    return [
        Check(
            f"{name} from {less} to {more}",
            table.lead(key, {"factor": more}, {"factor": less}, **READS),
            below(0.0),
        )
        for less, more in pairwise(table.values("factor", **READS))
    ]


def mirroring(table: Table) -> Found:
    """C3."""
    checks = [*_falls(table, "seek_ms"), *_falls(table, "rotation_ms")]
    at = {"factor": 4, **READS}
    parts = ("seek_ms", "rotation_ms", "service_overhead_ms", "transfer_ms")
    for key in parts[:2]:
        share = table.each(lambda one, *of: one / sum(of), *((of, at) for of in (key, *parts)))
        name = key.removesuffix("_ms")
        checks.append(Check(f"share of {name} with four copies", share, at_least(0.1), ""))
    told = f"{_curve(table, 'seek_ms')}, {_curve(table, 'rotation_ms')} ms at as many copies"
    return Found(checks, told)


def settling(table: Table) -> Found:
    """C4."""
    difference = table.each(
        lambda write, read: write - read,
        ("seek_ms", {"factor": 1, **WRITES}),
        ("seek_ms", {"factor": 1, **READS}),
    )
    settle = table.values("write_settle_ms", factor=1, **WRITES)[0]
    gate = within(0.9 * settle, 1.1 * settle) if settle > 0 else above(0.0)
    return Found([Check("between the average seeks of this drive", difference, gate, "ms")])


def striping(table: Table) -> Found:
    """C5."""
    factors = table.values("factor", **READS)
    first, largest = factors[0], factors[-1]
    steady = [
        Check(
            f"rotation at {factor} against {first}",
            table.lead("rotation_ms", {"factor": factor}, {"factor": first}, **READS),
            within(-0.03, 0.03),
        )
        for factor in factors[1:]
    ]
    at = {"factor": largest, **READS}
    over = table.each(lambda turn, seek: turn / seek, ("rotation_ms", at), ("seek_ms", at))
    checks = [*_falls(table, "seek_ms"), *steady]
    checks.append(Check(f"rotation to seek at {largest}", over, above(1.0), "times"))
    at_all = " ".join(map(str, factors))
    told = f"{_curve(table, 'seek_ms')}, {_curve(table, 'rotation_ms')} ms at Ds of {at_all}"
    return Found(checks, told)


def _write_settle_ms(options: Options) -> float:
    named = {one.name: one.text for one in list_parts("drives")}
    text = named.get(options.drive) or Path(options.drive).read_text(encoding="utf-8")
    return float(tomllib.loads(text).get("write_settle_ms", 0.0))


def mirror_cells(options: Options) -> list[Cell]:
    """Reads of mirrors, and writes of a single drive."""
    load = {"depth": 1, "read_share": 1.0}
    found = []
    for count in (1, 2, 4) if options.quick else COPIES:
        one = mirror(count, copies=count)
        found += arrays.cells(options, [one], "iometer", [load], factor=count, **READS)
    write = {"depth": 1, "read_share": 0.0}
    marks: dict[str, Any] = {"factor": 1, "write_settle_ms": _write_settle_ms(options), **WRITES}
    found += arrays.cells(options, [mirror(1, copies=1)], "iometer", [write], **marks)
    return found


def stripe_cells(options: Options) -> list[Cell]:
    """Reads of stripes."""
    load = {"depth": 1, "read_share": 1.0}
    return [
        cell
        for factor in ((1, 4, 18) if options.quick else STRIPES)
        for cell in arrays.cells(
            options, [stripe(factor)], "iometer", [load], factor=factor, **READS
        )
    ]


_statement = partial(Statement, kind=Kind.ORDER)

MIRRORING = [
    _statement(
        id="C3",
        statement="Mirroring lowers both seek and rotation of reads, and both remain significant",
        published="no number (figure 1b)",
        range="1 to 6 copies, one read at a time; significant: a tenth of the access time with 4",
        judge=mirroring,
        needs=READS,
    ),
    _statement(
        id="C4",
        kind=Kind.NUMBER,
        statement="A read's overhead is below a write's, which settles longer",
        published="0.8 ms between the average seeks of the paper's drive (5.2 and 6.0 ms)",
        range="one drive, one request at a time; as long as this drive's write settle, within a "
        "tenth",
        judge=settling,
    ),
]
STRIPING = [
    _statement(
        id="C5",
        statement="Striping lowers seeks and leaves rotation alone, which dominates where Ds is "
        "large",
        published="no number (figure 1c)",
        range="Ds of 1 to 18, one read at a time; alone: within 3 %",
        judge=striping,
    )
]


def _draw(label: str, outcome: Outcome, path: Path) -> None:
    keys = {
        "service_overhead_ms": "overhead",
        "transfer_ms": "transfer",
        "seek_ms": "seek",
        "rotation_ms": "rotation",
    }
    stacked(outcome, path, axis="factor", label=label, keys=keys, where=READS)


MIRRORS = Experiment(
    name="ew-fig1b",
    question="What does a random read cost as copies grow?",
    source=f"{arrays.SOURCE}, figure 1b",
    cells=mirror_cells,
    statements=MIRRORING,
    draw=lambda outcome, path: _draw("mirroring factor Dm", outcome, path),
)
STRIPED = Experiment(
    name="ew-fig1c",
    question="What does a random read cost as data are striped over more drives?",
    source=f"{arrays.SOURCE}, figure 1c",
    cells=stripe_cells,
    statements=STRIPING,
    draw=lambda outcome, path: _draw("striping factor Ds", outcome, path),
)
