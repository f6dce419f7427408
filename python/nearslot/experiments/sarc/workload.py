"""The load: whether what is asked for is what the paper and its neighbours say of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...running import compare
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, Kind, within
from .options import OF_SYSTEM, Options
from .setup import CI, CS, Configuration, cache_of, scenario

LOAD = 80
STREAMS = {
    "1-1": 0.035,
    "1-2": 0.281,
    "1-3": 0.070,
    "1-4": 0.210,
    "2-1": 0.018,
    "2-2": 0.070,
    "2-3": 0.035,
    "3-1": 0.281,
}
"""Shares of the streams, as open sources of the benchmark have them."""
RUNS = ("1-3", "2-3", "3-1")
WALKS = ("1-2", "1-4", "2-2")
MIX = {
    "random reads": 0.289,
    "random writes": 0.325,
    "sequential reads": 0.105,
    "sequential writes": 0.281,
}
READS = {"uniform": 0.058, "walk": 0.676, "sequential": 0.266}
BSU_RPS = 50.0


def cells(options: Options) -> list[Cell]:
    """A run of each configuration; who asks does not hang on the cache."""
    return [Cell({"configuration": of.name}, partial(_shares, options, of)) for of in (CS, CI)]


def _shares(options: Options, of: Configuration, seeds: Sequence[int]) -> list[Row]:
    one = scenario(options, of, LOAD, cache_of(options, "SARC"))
    runs = compare(one, vary={"seed": list(seeds)}, series=False, overload="run").runs
    bsu = of.bsu(options, LOAD)
    return [{"seed": seed, **_row(run, bsu)} for seed, run in zip(seeds, runs, strict=True)]


def _row(run: Any, bsu: int) -> Row:  # noqa: ANN401 (a run, or what a test makes of one)
    counts: dict[tuple[str, str], int] = {
        (one.name, one.op): one.requests for one in run.stream_responses
    }
    every = sum(counts.values())
    reads = sum(count for (_, op), count in counts.items() if op == "read")

    def share(names: Sequence[str], op: str, of: int = every) -> float:
        return sum(counts.get((name, op), 0) for name in names) / of

    rest = [name for name in STREAMS if name not in RUNS]
    return {
        "rps": run.throughput_rps / bsu,
        **{f"stream {name}": share([name], "read") + share([name], "write") for name in STREAMS},
        "random reads": share(rest, "read"),
        "random writes": share(rest, "write"),
        "sequential reads": share(RUNS, "read"),
        "sequential writes": share(RUNS, "write"),
        "uniform": share(("1-1", "2-1"), "read", reads),
        "walk": share(WALKS, "read", reads),
        "sequential": share(RUNS, "read", reads),
    }


def _shares_within(table: Table, shares: dict[str, float], by: float) -> Found:
    return Found(
        [
            Check(
                f"{name}, {of.name}",
                table.mean(name, configuration=of.name),
                within(share - by, share + by),
                "",
            )
            for of in (CS, CI)
            for name, share in shares.items()
        ]
    )


def rate(table: Table) -> Found:
    """F02."""
    gate = within(BSU_RPS * 0.995, BSU_RPS * 1.005)
    return Found(
        [
            Check(
                f"a BSU, {of.name}",
                table.mean("rps", configuration=of.name),
                gate,
                "I/Os per second",
            )
            for of in (CS, CI)
        ]
    )


def intensities(table: Table) -> Found:
    """F04."""
    checks = []
    for of in (CS, CI):
        for name, share in STREAMS.items():
            gate = within(share - 0.02 * share, share + 0.02 * share)
            mean = table.mean(f"stream {name}", configuration=of.name)
            checks.append(Check(f"stream {name}, {of.name}", mean, gate, ""))
    return Found(checks)


_statement = partial(Statement, kind=Kind.NUMBER, turns=False)
STATEMENTS = [
    _statement(
        id="F01",
        statement="The mix of random and sequential reads and writes is that of the paper",
        published="29, 32, 11, 28 %",
        range="28.9, 32.5, 10.5, 28.1 %, within 0.5",
        judge=partial(_shares_within, shares=MIX, by=0.005),
    ),
    _statement(
        id="F02",
        statement="A business scaling unit is 50 I/Os a second",
        published="50",
        range="0.5 %",
        judge=rate,
    ),
    _statement(
        id="F04",
        statement="The eight streams have the shares of the benchmark",
        published=", ".join(f"{share:g}" for share in STREAMS.values()),
        range="2 % of each; the generator's own tests decide it within 1 %, with more requests",
        judge=intensities,
    ),
    _statement(
        id="F06",
        statement="Reads are uniform, walks and sequences in the shares that AMP's authors give",
        published="about 10, 65, 25 %",
        range="5.8, 67.6, 26.6 %, within 0.5",
        judge=partial(_shares_within, shares=READS, by=0.005),
    ),
]

EXPERIMENT = Experiment(
    name="sarc-workload",
    question="Is the load that of the paper?",
    source="USENIX 2005, section IV-C; FAST 2007",
    cells=cells,
    statements=STATEMENTS,
    reads=OF_SYSTEM - {"depth_percent"},
)
