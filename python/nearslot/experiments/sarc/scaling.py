"""The rule of scaling: whether a part of the system answers as a larger part does.

Arrays share nothing but the cache, the write buffer and the load, and all three are parted with
them. So one array with its part of each should answer as several with theirs.
"""

from __future__ import annotations

from dataclasses import replace

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, within
from .options import OF_SYSTEM, Options
from .points import lead, unless_unfilled
from .setup import BOTTOM, CONFIGURATIONS, POLICIES, SARC, TOP, Configuration, cache_of, cell
from .table2 import OVERALL

TIMES = 4
"""By how much the larger part is larger."""
LOAD = 80
SMALL, LARGE = "small", "large"
WITHIN, LEADS_WITHIN = 0.05, 0.03


def scales(options: Options) -> dict[str, int]:
    """One in how many arrays each part has; the scale that is asked for is the small one."""
    large = max(1, options.scale // TIMES)
    return {SMALL: large * TIMES, LARGE: large}


def cells(options: Options) -> list[Cell]:
    """All three policies in both configurations, in a small and in a large part of the system."""
    found = []
    for part, scale in scales(options).items():
        # The large part has so many arrays more, each with its requests.
        at = replace(options, scale=scale, requests=max(1_000, options.requests // 2))
        found += [
            cell(at, of, LOAD, cache_of(at, policy), {"policy": policy, "part": part})
            for of in CONFIGURATIONS
            for policy in POLICIES
        ]
    return found


def _column(of: Configuration, policy: str, part: str) -> tuple[str, dict[str, object]]:
    return OVERALL, {"configuration": of.name, "policy": policy, "part": part}


def alike(table: Table) -> Found:
    """SCALE."""
    checks = []
    for of in CONFIGURATIONS:
        for policy in POLICIES:
            columns = (_column(of, policy, part) for part in (LARGE, SMALL))
            more = table.each(lambda large, small: large / small - 1, *columns)
            what = f"overall response of {policy} in the large part, {of.name}"
            checks.append(Check(what, more, within(-WITHIN, WITHIN)))
    return Found(checks)


def leads_alike(table: Table) -> Found:
    """SCALEo."""
    checks, told = [], []
    for of in CONFIGURATIONS:
        for other in (TOP, BOTTOM):
            pairs = [
                _column(of, policy, part) for part in (LARGE, SMALL) for policy in (other, SARC)
            ]
            moved = table.each(lambda a, b, c, d: a / b - c / d, *pairs)
            what = f"how far {other} is behind SARC, large less small, {of.name}"
            found = Check(what, moved, within(-LEADS_WITHIN, LEADS_WITHIN))
            for pair in (moved.needs[:2], moved.needs[2:]):
                if found.found is not None:
                    found = unless_unfilled(table, found, *pair)
            checks.append(found)
            parts = (table.only(part=part) for part in (LARGE, SMALL))
            leads = (lead(rows, OVERALL, other, SARC, of, LOAD) for rows in parts)
            told.append(f"{other}, {of.name}: " + ", ".join(f"{one.value:+.1%}" for one in leads))
    return Found(checks, f"behind SARC in the large part, in the small one: {'; '.join(told)}")


_RANGE = f"{LOAD} % of the top load, one part with {TIMES} times the arrays of the other; "

STATEMENTS = [
    Statement(
        id="SCALE",
        kind=Kind.OWN,
        statement="A part of the system with its part of the load answers as a larger part does",
        published="not published",
        range=f"{_RANGE}overall response within {WITHIN:.0%}",
        judge=alike,
        turns=False,
    ),
    Statement(
        id="SCALEo",
        kind=Kind.OWN,
        statement="How far the policies are apart does not hang on how large the part is",
        published="not published",
        range=f"{_RANGE}within {LEADS_WITHIN:.0%} of the response",
        judge=leads_alike,
        turns=False,
    ),
]

EXPERIMENT = Experiment(
    name="sarc-scale",
    question="Does a part of the system answer as a larger one does?",
    source="ours",
    cells=cells,
    statements=STATEMENTS,
    reads=OF_SYSTEM,
)
