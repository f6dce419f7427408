"""Figures 2 and 3: how to spend a few drives, one request at a time and with long queues."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomli_w

from ..parts import list_parts
from . import arrays
from .arrays import Array, Grid, Loads, ew, stripe
from .frame import Claim, Experiment, Mean, Options, Outcome

BUDGETS = (2, 3, 4, 6)
DILUTIONS = tuple(Fraction(value) for value in ("5/4", "3/2", "2", "3", "4", "6"))
DOUBLED = ("writes", "slow seeks", "slow rotation")
LONG_DEPTH_PER_DRIVE = 16


def configurations(drives: int) -> Iterator[tuple[int, float, float]]:
    """Every Dm x Ds x Dd of so many drives whose dilution is one of a few."""
    for dm in range(1, drives + 1):
        if drives % dm == 0:
            for dilution in DILUTIONS:
                striping = Fraction(drives // dm) / dilution
                if striping >= 1:
                    yield dm, float(striping), float(dilution)


def _arrays(drives: int, aging: float) -> dict[str, tuple[int, float, float]]:
    return {
        ew(dm, ds, dd, aging=aging).label: (dm, ds, dd) for dm, ds, dd in configurations(drives)
    }


def _best(grid: Grid, options: Options, **at: object) -> tuple[str, Mean]:
    labels = dict.fromkeys(
        row["array"] for row in grid.rows if all(row.get(k) == v for k, v in at.items())
    )
    means = {label: grid.mean("response_ms", array=label, **at) for label in labels}
    best = min(means, key=lambda label: means[label].value)
    return best, means[best]


def _variants(options: Options, folder: Path) -> dict[str, str]:
    """The drive as it is, with seeks twice as long, and with rotation half as fast."""
    named = {one.name: one.text for one in list_parts("drives")}
    text = named.get(options.drive) or Path(options.drive).read_text()
    ways: dict[str, Any] = {
        "slow seeks": lambda table: table.update(
            seek_ms=[[n, 2 * ms] for n, ms in table["seek_ms"]]
        ),
        "slow rotation": lambda table: table.update(rpm=table["rpm"] / 2),
    }
    found = {}
    for name, change in ways.items():
        table = tomllib.loads(text)
        change(table)
        path = folder / f"{name.replace(' ', '-')}.toml"
        path.write_text(tomli_w.dumps(table))
        overhead = arrays.OVERHEAD_MS if options.overhead_ms is None else options.overhead_ms
        found[name] = f"{path}:model=mechanical:overhead_ms={overhead}"
    return found


def _run(options: Options) -> Grid:
    grid = Grid()
    half: Loads = {"depth": [1], "read_share": [0.5]}
    budgets = (4,) if options.quick else BUDGETS
    aging = 0.0 if options.quick else 1.0
    usual = {"drive": arrays.drive(options), "case": "as it is"}
    grid.run(options, [stripe(1)], "iometer", half, budget=1, **usual)
    for budget in budgets:
        of_budget = [ew(*one, aging=aging) for one in configurations(budget)]
        grid.run(options, of_budget, "iometer", half, budget=budget, **usual)
    last = budgets[-1]
    of_budget = [ew(*one, aging=aging) for one in configurations(last)]
    few_reads: Loads = {"depth": [1], "read_share": [0.25]}
    grid.run(options, of_budget, "iometer", few_reads, budget=last, **{**usual, "case": "writes"})
    with tempfile.TemporaryDirectory() as folder:
        for case, drive in _variants(options, Path(folder)).items():
            grid.run(options, of_budget, "iometer", half, budget=last, drive=drive, case=case)
    long: Loads = {"depth": [LONG_DEPTH_PER_DRIVE * last], "read_share": [0.5]}
    grid.run(options, of_budget, "iometer", long, budget=last, **{**usual, "case": "long queue"})
    for row in grid.rows:
        # Where the file of a changed drive lay says nothing.
        row["drive"] = (
            options.drive if row["case"] in ("as it is", "writes", "long queue") else row["case"]
        )
    return grid


def _small_dilution(grid: Grid, options: Options) -> Claim:
    budgets = [budget for budget in (4, 6) if any(row["budget"] == budget for row in grid.rows)]
    best = {budget: _best(grid, options, budget=budget, case="as it is") for budget in budgets}
    factors = {
        budget: _arrays(budget, 1.0)[label.split(",")[0]] for budget, (label, _) in best.items()
    }
    told = "; ".join(
        f"{label} of {budget} drives, {mean.value:.2f} ms" for budget, (label, mean) in best.items()
    )
    return Claim(
        id="E2",
        statement="With a queue of one, half reads, little dilution suffices and the rest goes "
        "to the read factors",
        published="no number (figure 2)",
        found=f"best: {told}",
        holds=all(dd <= 2 for _, _, dd in factors.values()),
    )


def _halves(grid: Grid, options: Options) -> Claim:
    single = grid.by_seed("response_ms", budget=1)
    label, _ = _best(grid, options, budget=4, case="as it is")
    four = grid.by_seed("response_ms", budget=4, array=label, case="as it is")
    gain = Mean.of([single[seed] / four[seed] for seed in single])
    return Claim(
        id="E3",
        statement="A well-configured array of four drives halves the latency of a conventional "
        "drive",
        published="2 times",
        found=f"{gain.value:.2f} times ({label})",
        ci=gain.ci,
        holds=1.7 <= gain.value <= 2.5,
        note=""
        if gain.value <= 2.5
        else "more than halves: above the proposed range of 1.7 to 2.5 times",
    )


def _moves(grid: Grid, options: Options) -> Claim:
    budget = max(row["budget"] for row in grid.rows)
    factors = _arrays(budget, 1.0)
    best = {
        case: _best(grid, options, budget=budget, case=case)[0] for case in ("as it is", *DOUBLED)
    }
    at = {case: factors[label] for case, label in best.items()}
    moves = {
        "writes": at["writes"][2] >= at["as it is"][2],
        "slow seeks": at["slow seeks"][1] >= at["as it is"][1],
        "slow rotation": at["slow rotation"][0] >= at["as it is"][0],
    }
    return Claim(
        id="E4",
        statement="More writes favour dilution, slow seeks favour striping, slow rotation "
        "favours mirroring",
        published="no number (section 3)",
        found="; ".join(f"{case}: {label}" for case, label in best.items()),
        holds=all(moves.values()),
        note=f"{budget} drives; writes: 75 % instead of 50 %; otherwise one parameter of the "
        "drive doubled; "
        "a factor that stays where it is counts as not moving the other way",
    )


def _long_queue(grid: Grid, options: Options) -> Claim:
    budget = max(row["budget"] for row in grid.rows)
    labels = _arrays(budget, 1.0)
    rates = {
        label: grid.mean("throughput_rps", array=label, case="long queue", budget=budget).value
        for label in labels
    }
    ranked = sorted(rates, key=lambda label: -rates[label])[:3]
    return Claim(
        id="E9",
        statement="Throughput by configuration for long queues (figure 3)",
        published="the text of figure 3 is not available",
        found="best: " + ", ".join(f"{label} {rates[label]:.0f}/s" for label in ranked),
        note=f"for information; {budget} drives, {LONG_DEPTH_PER_DRIVE} requests per drive, half "
        "reads",
    )


def _budget() -> Claim:
    fits = all(abs(dm * ds * dd - 6) < 1e-9 for dm, ds, dd in configurations(6))
    wanted = {(1, 3.0, 2.0), (2, 1.5, 2.0)}
    found = wanted <= set(configurations(6))
    refused = _refuses(Array("", "ew_array:dm=1:ds=1.5:dd=1.5", "satf_ew", 1.0, 2))
    return Claim(
        id="E1",
        statement="A budget is Dm x Ds x Dd; Ds and Dd may be fractional, their product is a "
        "whole number",
        published="2x1.5x2 on six drives",
        found="2x1.5x2 and 1x3x2 are built of six drives; 1x1.5x1.5 is "
        f"{'refused' if refused else 'built'}",
        holds=fits and found and refused,
    )


def _refuses(array: Array) -> bool:
    from ..errors import ConfigError

    try:
        Grid().run(Options(requests=1_000, seeds=1), [array], "iometer", {"depth": [1]})
    except ConfigError:
        return True
    return False


def run(options: Options) -> Outcome:
    """Runs every configuration of a few budgets and decides the claims."""
    grid = _run(options)
    return Outcome.of(
        options,
        experiment="ew-fig2",
        claims=[
            _budget(),
            _small_dilution(grid, options),
            _halves(grid, options),
            _moves(grid, options),
            _long_queue(grid, options),
        ],
        runs=grid.rows,
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Response time of the configurations of each budget, best first."""
    from matplotlib.figure import Figure

    rows = [row for row in outcome.runs if row["case"] == "as it is"]
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
    run=run,
    draw=draw,
)
