"""Figures 2 and 3: how to spend a few drives, one request at a time and with long queues."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import tomli_w

from ...errors import ConfigError
from ...parts import list_parts
from ...running import run
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table, simulated
from ..verdict import Check, Kind, below, exactly, within
from . import arrays, disk
from .arrays import MS, RPS, Array, ew, numbers, stripe
from .options import Options

BUDGETS = (2, 3, 4, 6)
DILUTIONS = tuple(Fraction(value) for value in ("5/4", "3/2", "2", "3", "4", "6"))
LONG_DEPTH_PER_DRIVE = 16
Factors = tuple[int, float, float]
"""Dm, Ds and Dd."""

AS_IT_IS, LONG_QUEUE = "as it is", "long queue"
# What each change favours, and which configurations have much of that.
FAVOURED: dict[str, tuple[str, Callable[[Factors], bool]]] = {
    "writes": ("dilution of 2 and more", lambda factors: factors[2] >= 2),
    "slow seeks": ("striping by 2 and more", lambda factors: factors[1] >= 2),
    "slow rotation": ("2 copies and more", lambda factors: factors[0] >= 2),
}


def configurations(drives: int) -> Iterator[Factors]:
    """Every Dm x Ds x Dd of so many drives whose dilution is one of a few."""
    for dm in range(1, drives + 1):
        if drives % dm == 0:
            for dilution in DILUTIONS:
                striping = Fraction(drives // dm) / dilution
                if striping >= 1:
                    yield dm, float(striping), float(dilution)


def _factors(drives: int) -> dict[str, Factors]:
    return {ew(*one).label: one for one in configurations(drives)}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """For the files of changed drives, as long as the program runs."""
    return tempfile.TemporaryDirectory()


def _variants(options: Options, overhead_ms: float) -> dict[str, str]:
    """The drive with seeks twice as long, and with rotation half as fast."""
    named = {one.name: one.text for one in list_parts("drives")}
    text = named.get(options.drive) or Path(options.drive).read_text(encoding="utf-8")
    ways: dict[str, Callable[[dict[str, Any]], None]] = {
        "slow seeks": lambda table: table.update(
            seek_ms=[[n, 2 * ms] for n, ms in table["seek_ms"]]
        ),
        "slow rotation": lambda table: table.update(rpm=table["rpm"] / 2),
    }
    found = {}
    for name, change in ways.items():
        table = tomllib.loads(text)
        change(table)
        path = Path(_folder().name) / f"{Path(options.drive).stem}-{name.replace(' ', '-')}.toml"
        path.write_text(tomli_w.dumps(table), encoding="utf-8")
        found[name] = f"{path}:model=mechanical:overhead_ms={overhead_ms}"
    return found


def cells(options: Options) -> list[Cell]:
    """Every configuration of a few budgets."""
    budgets = (4,) if options.quick else BUDGETS
    found = []
    for overhead_ms in options.overheads:
        found += _cells(options, budgets, overhead_ms)
    return found


def _cells(options: Options, budgets: tuple[int, ...], overhead_ms: float) -> list[Cell]:
    aging = 0.0 if options.quick else 1.0
    drive = disk.drive(options, overhead_ms)
    half = {"depth": 1, "read_share": 0.5}
    last = budgets[-1]
    found = []

    def add(array: Array, budget: int, case: str, load: dict[str, float], of: str) -> None:
        base = arrays.scenario(options, array, "iometer", load, drive=of)
        # The path of a changed drive's file is random, so it is not among the marks.
        marks = {"overhead_ms": overhead_ms, "array": array.label, "budget": budget, "case": case}
        found.append(simulated(marks, base, numbers))

    add(stripe(1), 1, AS_IT_IS, half, drive)
    for budget in budgets:
        for one in configurations(budget):
            add(ew(*one, aging=aging), budget, AS_IT_IS, half, drive)
    for one in configurations(last):
        array = ew(*one, aging=aging)
        add(array, last, "writes", {"depth": 1, "read_share": 0.25}, drive)
        for case, changed in _variants(options, overhead_ms).items():
            add(array, last, case, half, changed)
        long = {"depth": LONG_DEPTH_PER_DRIVE * last, "read_share": 0.5}
        add(array, last, LONG_QUEUE, long, drive)
    return found


def _best(
    table: Table, budget: int, case: str, among: Callable[[Factors], bool] = lambda _: True
) -> str:
    labels = [label for label, factors in _factors(budget).items() if among(factors)]
    at = {"budget": budget, "case": case}
    return min(labels, key=lambda label: table.mean(MS, array=label, **at).value)


def small_dilution(table: Table) -> Found:
    """E2."""
    checks, told = [], []
    for budget in table.values("budget"):
        if budget in (4, 6):
            at = {"budget": budget, "case": AS_IT_IS}
            little = _best(table, budget, AS_IT_IS, lambda factors: factors[2] <= 2)
            much = _best(table, budget, AS_IT_IS, lambda factors: factors[2] > 2)
            ahead = table.lead(MS, {"array": little}, {"array": much}, **at)
            checks.append(Check(f"{little} against {much}, {budget} drives", ahead, below(0.0)))
            told.append(f"{little} {table.mean(MS, array=little, **at).value:.2f} ms")
    return Found(checks, f"best with little dilution: {', '.join(told)}")


def halves(table: Table) -> Found:
    """E3."""
    best = {"array": _best(table, 4, AS_IT_IS), "budget": 4, "case": AS_IT_IS}
    gain = table.each(lambda single, four: single / four, (MS, {"budget": 1}), (MS, best))
    return Found([Check(f"one drive to {best['array']}", gain, within(1.7, 2.5), "times")])


def moves(table: Table) -> Found:
    """E4."""
    budget = max(table.values("budget"))
    checks, told = [], [f"as it is {_best(table, budget, AS_IT_IS)}"]
    for case, (name, much) in FAVOURED.items():
        told.append(f"{case} {_best(table, budget, case)}")
        columns = [
            (MS, {"budget": budget, "case": at, "array": _best(table, budget, at, chosen)})
            for at in (case, AS_IT_IS)
            for chosen in (much, lambda factors, much=much: not much(factors))
        ]
        gain = table.each(lambda a, b, c, d: a / b - c / d, *columns)
        checks.append(Check(f"{case}: what {name} costs against less", gain, below(0.0)))
    return Found(checks, f"best: {', '.join(told)}")


def long_queue(table: Table) -> Found:
    """E9."""
    budget = max(table.values("budget"))
    at = {"budget": budget, "case": LONG_QUEUE}
    rates = {label: table.mean(RPS, array=label, **at).value for label in _factors(budget)}
    ranked = sorted(rates, key=lambda label: -rates[label])[:3]
    best = ", ".join(f"{label} {rates[label]:.0f}/s" for label in ranked)
    return Found([], f"best of {budget} drives: {best}")


def budgets(table: Table) -> Found:
    """E1."""
    fits = sum(abs(dm * ds * dd - 6) > 1e-9 for dm, ds, dd in configurations(6))
    wanted = sum(one in set(configurations(6)) for one in ((1, 3.0, 2.0), (2, 1.5, 2.0)))
    refused = _refuses(Array("", "ew_array:dm=1:ds=1.5:dd=1.5", "satf_ew", 1.0, 2))
    return Found(
        [
            exactly("configurations of six drives that need others", fits, within(0, 0)),
            exactly("of 1x3x2 and 2x1.5x2, built of six drives", wanted, within(2, 2)),
            exactly("1x1.5x1.5 is refused", refused, within(1, 1)),
        ]
    )


def _refuses(array: Array) -> bool:
    options = Options(requests=1_000, seeds=1)
    load = {"depth": 1, "read_share": 1.0}
    drive = disk.drive(options, 0.0)
    try:
        run(arrays.scenario(options, array, "iometer", load, drive=drive), series=False)
    except ConfigError:
        return True
    return False


_statement = partial(Statement, kind=Kind.ORDER)

STATEMENTS = [
    _statement(
        id="E1",
        statement="A budget is Dm x Ds x Dd; Ds and Dd may be fractional, their product is a "
        "whole number",
        published="2x1.5x2 on six drives",
        range="six drives, and 1x1.5x1.5",
        judge=budgets,
        turns=False,
    ),
    _statement(
        id="E2",
        statement="With a queue of one, half reads, little dilution suffices and the rest goes "
        "to the read factors",
        published="no number (figure 2)",
        range="4 and 6 drives; little: the best with a dilution up to 2 is ahead of all others",
        judge=small_dilution,
    ),
    _statement(
        id="E3",
        kind=Kind.NUMBER,
        statement="A well-configured array of four drives halves the latency of a conventional "
        "drive",
        published="2 times",
        range="half reads, one request at a time; halves: 1.7 to 2.5 times",
        judge=halves,
    ),
    _statement(
        id="E4",
        statement="More writes favour dilution, slow seeks favour striping, slow rotation "
        "favours mirroring",
        published="no number (section 3)",
        range="the most drives, one request at a time; 75 % writes instead of 50 %, seeks or "
        "rotation twice as long; favour: the best that has much of it gains on the best that has "
        "not",
        judge=moves,
    ),
    _statement(
        id="E9",
        kind=Kind.INFORMATION,
        statement="Throughput by configuration for long queues (figure 3)",
        published="the text of figure 3 is not available",
        range=f"{LONG_DEPTH_PER_DRIVE} requests per drive, half reads",
        judge=long_queue,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Response time of the configurations of each budget, best first."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    rows = table.only(case=AS_IT_IS, overhead_ms=table.values("overhead_ms")[-1]).rows
    labels = dict.fromkeys((row["budget"], row["array"]) for row in rows)
    means = {
        key: sum(r["response_ms"] for r in rows if (r["budget"], r["array"]) == key)
        / sum((r["budget"], r["array"]) == key for r in rows)
        for key in labels
    }
    ordered = sorted(means, key=lambda key: (key[0], means[key]))
    figure = Figure(figsize=(1.5 + 0.32 * len(ordered), 4.2), layout="constrained")
    panel = figure.subplots()
    names = [f"{budget}: {label}" for budget, label in ordered]
    panel.bar(names, [means[key] for key in ordered], color=[f"C{key[0]}" for key in ordered])
    panel.tick_params(axis="x", labelrotation=90, labelsize=7)
    panel.set_ylabel("mean response (ms)")
    panel.set_title("50 % writes, one request at a time; drives: configuration", fontsize=9)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="ew-fig2",
    question="How are a few drives best spent on copies, striping and free space?",
    source=f"{arrays.SOURCE}, figures 2 and 3",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
)
