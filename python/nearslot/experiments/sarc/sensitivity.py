"""What the text leaves open, one at a time: which orders hang on it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, ClaimVerdict, Gate, Kind, above, within
from .options import OF_SYSTEM, Options
from .points import check, lead, unless_unfilled
from .setup import BOTTOM, CI, CS, POLICIES, SARC, TOP, Configuration, cache_of, cell
from .table2 import OVERALL

LOADS = (80, 95)
VARIED: dict[str, tuple[Any, ...]] = {
    "threshold": (3, 8, 30),
    "degree": (4, 12, 24),
    "trigger": (1, 6),
    "remedy": ("false",),
    "stage": ("pages",),
    "writes": ("allocate", "rest", "update"),
    "depth_percent": (5.0, 20.0),
    "bottom_percent": (0.5, 8.0),
    "large_ratio": (5.0, 1e6),
    "step": ("page",),
    "nvs_percent": (12.5, 50.0),
    "sched": ("look",),
    "ratio": (0.5, 2.0),
}
QUICK = ("threshold", "bottom_percent")
BASE = "as it is"
ORDERS = {
    "CS": ((TOP, BOTTOM), (BOTTOM, SARC)),
    "CI": ((BOTTOM, TOP), (TOP, SARC)),
}
"""Who is slower than whom, as published."""
CACHE = "cache of"
SIZES = {"half the size": 0.5, "twice the size": 2.0}
"""Other caches with the same footprint to cache, arrays, load and write buffer."""
PART = 4
"""There are many runs; such a part of the requests that are asked for tells as well."""
LEVEL = 0.02
"""Who is behind by no more is level."""
SIGNS = {
    ClaimVerdict.HOLDS: "",
    ClaimVerdict.FAILS: " NOT",
    ClaimVerdict.UNDECIDED: " open",
    ClaimVerdict.UNTESTABLE: " not seen",
}
# LOOK saturates at about half the load.
LIGHTER = {"look": 50.0}


def variants(options: Options) -> dict[str, Options]:
    """The study's settings, and each with one of them changed."""
    found = {BASE: options}
    for key, values in VARIED.items():
        if options.quick and key not in QUICK:
            continue
        for value in values:
            if key == "ratio":
                changed = {
                    name: getattr(options, name) * value for name in ("ratio_cs", "ratio_ci")
                }
            else:
                changed = {key: value}
            if value in LIGHTER:
                changed["load_percent"] = options.load_percent * LIGHTER[value] / 100
            found[f"{key}={value}" + (" times" if key == "ratio" else "")] = replace(
                options, **changed
            )
    return found


def _sized(options: Options) -> dict[str, tuple[Options, float]]:
    """All variants, and by how much their caches are larger."""
    options = replace(options, requests=max(1_000, options.requests // PART))
    found = {name: (of, 1.0) for name, of in variants(options).items()}
    for told, times in SIZES.items():
        # The write buffer is told in sizes of the cache, and stays what it is.
        same = replace(options, nvs_percent=options.nvs_percent / times)
        found[f"{CACHE} {told}"] = same, times
    return found


def cells(options: Options) -> list[Cell]:
    """All three policies in both configurations, for each variant."""
    return [
        cell(
            of,
            replace(configuration, full_mib=round(configuration.full_mib * times)),
            load,
            cache_of(of, policy),
            {"policy": policy, "variant": name},
        )
        for name, (of, times) in _sized(options).items()
        for configuration in (CS, CI)
        for load in LOADS
        for policy in POLICIES
    ]


def orders(table: Table, of: Configuration) -> Found:
    """SC and SI: the order of the three under each variant."""
    pieces, verdicts = [], Counter[ClaimVerdict]()
    for name in _variants(table):
        rows = table.only(variant=name)
        signs = []
        for load in LOADS:
            for slower, faster in ORDERS[of.name]:
                one = check(rows, OVERALL, (slower, faster), above(0.0), (of, load))
                value = "" if one.found is None else f" {one.found.value:+.1%}"
                signs.append(f"{slower} over {faster}{value}{SIGNS[one.verdict]}")
                verdicts[one.verdict] += 1
        pieces.append(f"{name}: {', '.join(signs)}")
    loads = " and ".join(f"{load} %" for load in LOADS)
    told = f"{verdicts[ClaimVerdict.HOLDS]} of {verdicts.total()} signs as published"
    if verdicts[ClaimVerdict.UNTESTABLE]:
        told += f", {verdicts[ClaimVerdict.UNTESTABLE]} not seen, as caches were hardly filled"
    return Found([], f"{told}; overall at {loads}:" + "\n      " + "\n      ".join(pieces))


def _variants(table: Table) -> list[str]:
    return list(dict.fromkeys(row["variant"] for row in table.rows))


def bottoms(table: Table) -> Found:
    """A16."""
    checks = []
    gate: Gate = within(-0.1, 0.1)
    for name in _variants(table):
        if name.startswith("bottom_percent"):
            for of in (CS, CI):
                for load in LOADS:
                    where = {"policy": SARC, "configuration": of.name, "load": load}
                    change = table.lead(OVERALL, {"variant": name}, {"variant": BASE}, **where)
                    found = Check(f"{name}, {of.name} at {load} %", change, gate)
                    checks.append(unless_unfilled(table, found, *change.needs))
    return Found(checks)


def one_set(table: Table) -> Found:
    """A18: the same constants for both configurations."""
    rows = table.only(variant=BASE)
    checks = [
        check(rows, OVERALL, (slower, SARC), above(-LEVEL), (of, load))
        for of in (CS, CI)
        for load in LOADS
        for slower in (TOP, BOTTOM)
    ]
    return Found(checks)


def other_sizes(table: Table) -> Found:
    """B17."""
    checks = []
    for name in _variants(table):
        if not name.startswith(CACHE):
            continue
        rows = table.only(variant=name)
        for of in (CS, CI):
            for load in LOADS:
                for slower, faster in ORDERS[of.name]:
                    excess = lead(rows, OVERALL, slower, faster, of, load)
                    is_level = (of, slower) == (CI, TOP)
                    what = f"{slower} over {faster}, {of.name} at {load} %, {name}"
                    found = Check(what, excess, above(-LEVEL if is_level else 0.0))
                    checks.append(unless_unfilled(rows, found, *excess.needs))
    return Found(checks)


_information = partial(Statement, kind=Kind.INFORMATION, published="table II", turns=False)
STATEMENTS = [
    _information(
        id="SC",
        statement="Cache-sensitive: what the order of the three hangs on",
        range="80 and 95 % of the top load of the study's own settings; intervals over seeds",
        judge=partial(orders, of=CS),
    ),
    _information(
        id="SI",
        statement="Cache-insensitive: what the order of the three hangs on",
        range="80 and 95 % of the top load of the study's own settings; intervals over seeds",
        judge=partial(orders, of=CI),
    ),
    Statement(
        id="A16",
        kind=Kind.ORDER,
        statement="How long the bottoms are does not matter as long as they are short",
        published="in section III",
        range="0.5 and 8 % against 2 %: overall response within 10 %",
        judge=bottoms,
        turns=False,
    ),
    Statement(
        id="B17",
        kind=Kind.ORDER,
        statement="The findings hold for other sizes of the cache",
        published="in section IV-B",
        range="caches of half and of twice the size, same footprint to cache, same write buffer; "
        "80 and 95 % of the top load, overall: the orders of B01o and B02o, but SARC, which is "
        "level with LRU-Top where the cache helps little, at most 2 % behind it there",
        judge=other_sizes,
        turns=False,
    ),
    Statement(
        id="A18",
        kind=Kind.ORDER,
        statement="With one set of constants SARC is as good as both others, or better, in both "
        "configurations",
        published="in the conclusions",
        range="80 and 95 % of the top load, overall, 2 % behind at most",
        judge=one_set,
        turns=False,
    ),
]

EXPERIMENT = Experiment(
    name="sarc-sensitivity",
    question="Which findings hang on what the paper's text leaves open?",
    source="USENIX 2005; the list of open constants is ours",
    cells=cells,
    statements=STATEMENTS,
    reads=OF_SYSTEM,
)
