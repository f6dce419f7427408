"""Statements, and how each becomes a claim: decided at the highest overhead, told at the others.

Where runs leave a claim undecided, those runs are repeated with more seeds until it is decided or
the limit of seeds is reached. Where a claim leans to one side at the lowest overhead and to the
other at the highest, the overhead at which it turns is bisected.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .crossover import crossovers
from .frame import Asked, Claim, Options, OverheadOptions
from .table import Cell, Row, Table
from .verdict import Check, ClaimVerdict, Kind, Where, together

if TYPE_CHECKING:
    from .frame import Experiment

SEEDS_MORE = 3
"""So many seeds are added at a time."""


@dataclass(frozen=True)
class Found:
    """The result of a statement.

    Attributes:
        checks: Its parts.
        told: What was found besides, in words.
        outside: What was found outside of the range that decides.
    """

    checks: Sequence[Check]
    told: str = ""
    outside: str = ""

    @property
    def verdict(self) -> ClaimVerdict:
        """The verdict on all parts together."""
        return together(check.verdict for check in self.checks)

    @property
    def leans(self) -> bool | None:
        """On which side the values lie, whatever their intervals; None if nothing was measured."""
        sides = [check.leans for check in self.checks if check.leans is not None]
        return all(sides) if sides else None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim, and how it is decided.

    Attributes:
        id: Its name in the list of claims.
        kind: Where it comes from.
        statement: What is claimed.
        published: The published number, or where the statement stands if there is none.
        range: Over what it is decided.
        judge: Decides it on the rows of one overhead.
        needs: The points that it looks at, all that have these marks.
        note: What else is to be said.
        turns: Whether it may depend on the overhead.
    """

    id: str
    kind: Kind
    statement: str
    published: str
    range: str
    judge: Callable[[Table], Found]
    needs: Where = field(default_factory=dict)
    note: str = ""
    turns: bool = True


def carry_out(experiment: Experiment[Asked], options: Asked) -> tuple[list[Claim], list[Row]]:
    """Runs the grid of an experiment and decides its claims."""
    cells = experiment.cells(options)
    table = Table(row for cell in cells for row in cell.measure(options.all_seeds))
    extended = _extend(experiment, options, cells, table)
    claims = [
        replace(claim, seeds=extended.get(claim.id, options.seeds))
        for claim in _claims(experiment, options, table)
    ]
    if extended:
        more = f"points of claims that were undecided have up to {max(extended.values())} seeds"
        claims = [
            claim
            if claim.verdict is not None
            else replace(claim, note="; ".join(filter(None, (claim.note, more))))
            for claim in claims
        ]
    return claims, table.rows


def _by_overhead(table: Table) -> dict[float | None, Table]:
    overheads = table.values("overhead_ms")
    return {overhead: table.only(overhead_ms=overhead) for overhead in overheads} or {None: table}


def _extend(
    experiment: Experiment[Asked], options: Asked, cells: Sequence[Cell], table: Table
) -> dict[str, int]:
    """Adds seeds where a claim is undecided. Returns how many seeds each of these claims got."""
    seeds, got = options.seeds, {}
    # A claim that becomes undecided in a later round gets all seeds that its points lack.
    had = dict.fromkeys(range(len(cells)), seeds)
    while seeds < options.seeds_max:
        by_overhead = _by_overhead(table)
        main = max(by_overhead, key=lambda overhead: overhead or 0.0)
        needs: list[Where] = []
        more = min(SEEDS_MORE, options.seeds_max - seeds)
        for statement in experiment.statements:
            if statement.kind is Kind.INFORMATION:
                continue
            found = statement.judge(by_overhead[main])
            if found.verdict is not ClaimVerdict.UNDECIDED:
                continue
            for check in found.checks:
                if check.verdict is ClaimVerdict.UNDECIDED and check.found is not None:
                    got[statement.id] = seeds + more
                    needs += check.found.needs
        at = {} if main is None else {"overhead_ms": main}
        chosen = [
            index
            for index, cell in enumerate(cells)
            if any(cell.fits({**where, **at}) for where in needs)
        ]
        if not chosen:
            break
        end = options.seed + seeds + more
        undecided = ", ".join(name for name, count in got.items() if count == seeds + more)
        print(
            f"  {undecided} undecided: seeds up to {end - 1} at {len(chosen)} points",
            file=sys.stderr,
            flush=True,
        )
        for index in chosen:
            table.add(cells[index].measure(range(options.seed + had[index], end)))
            had[index] = seeds + more
        seeds += more
    return got


def _claims(experiment: Experiment[Asked], options: Asked, table: Table) -> list[Claim]:
    by_overhead = _by_overhead(table)
    found = {
        statement.id: {at: statement.judge(rows) for at, rows in by_overhead.items()}
        for statement in experiment.statements
    }
    turns: Mapping[str, str] = {}
    if isinstance(options, OverheadOptions):
        turns = _turns(experiment, options, found)
    return [
        _claim(statement, found[statement.id], turns.get(statement.id, ""), options)
        for statement in experiment.statements
    ]


def _turns(
    experiment: Experiment[Any],
    options: OverheadOptions,
    found: Mapping[str, Mapping[float | None, Found]],
) -> dict[str, str]:
    """Between which overheads claims turn, in words."""
    statements = {one.id: one for one in experiment.statements if one.turns}
    leans = {
        name: {at: one.leans for at, one in of.items() if at is not None}
        for name, of in found.items()
        if name in statements
    }

    def probe(wanted: Mapping[float, Sequence[str]]) -> dict[float, dict[str, bool | None]]:
        answers: dict[float, dict[str, bool | None]] = {}
        for overhead, names in wanted.items():
            cheap = options.probing(overhead)
            needs = [statements[name].needs for name in names]
            cells = [
                cell
                for cell in experiment.cells(cheap)
                if any(cell.fits({**where, "overhead_ms": overhead}) for where in needs)
            ]
            rows = Table(row for cell in cells for row in cell.measure(cheap.all_seeds))
            answers[overhead] = {name: statements[name].judge(rows).leans for name in names}
        return answers

    turns = crossovers(leans, probe, options.crossover_step_ms)
    requests = options.probing(0.0).requests
    return {name: turn.told(requests) for name, turn in turns.items()}


def _claim(
    statement: Statement,
    by_overhead: Mapping[float | None, Found],
    turn: str,
    options: Options,
) -> Claim:
    main = max(by_overhead, key=lambda overhead: overhead or 0.0)
    found = by_overhead[main]
    informs = statement.kind is Kind.INFORMATION
    others = {at: one for at, one in by_overhead.items() if at != main}
    notes = [statement.note] if statement.note else []
    if main is not None and others:
        notes.append(f"{'told' if informs else 'decided'} at {main:g} ms of overhead a request")
    for at, one in others.items():
        says = "" if informs else f" it {_says(one)}"
        notes.append(f"at {at:g} ms{says} ({_told(one)})")
    if turn and not informs:
        notes.append(turn)
    return Claim(
        id=statement.id,
        kind=statement.kind,
        statement=statement.statement,
        published=statement.published,
        range=statement.range,
        outside=found.outside,
        found=_told(found),
        checks=list(found.checks),
        verdict=None if informs else found.verdict,
        provisional=options.quick,
        note="; ".join(notes),
    )


def _says(found: Found) -> str:
    words = {ClaimVerdict.UNDECIDED: "is undecided", ClaimVerdict.UNTESTABLE: "is not testable"}
    return words.get(found.verdict, found.verdict.value)


def _told(found: Found) -> str:
    """The parts that decide: those against the claim, or else the one nearest to its limit."""
    pieces = [found.told] if found.told else []
    by_verdict = {
        verdict: [check for check in found.checks if check.verdict is verdict]
        for verdict in ClaimVerdict
    }
    measured = [check for check in found.checks if check.found and check.gate]
    against = by_verdict[ClaimVerdict.FAILS] or by_verdict[ClaimVerdict.UNDECIDED]
    if len(measured) > 2:
        count = len(by_verdict[ClaimVerdict.HOLDS])
        pieces.append(f"{count} of {len(measured)} parts hold")
        nearest = min(against or measured, key=_slack)
        pieces.append(f"nearest to its limit: {nearest.told()}" if not against else nearest.told())
    else:
        pieces += [check.told() for check in measured]
    pieces += [f"not tested: {check.what}" for check in by_verdict[ClaimVerdict.UNTESTABLE]]
    return "; ".join(pieces)


def _slack(check: Check) -> float:
    assert check.found is not None
    assert check.gate is not None
    return check.gate.slack(check.found)
