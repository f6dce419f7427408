"""Rules of eager writing (A1 to A13) and what predecessors found on one drive (F12 to F15)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from ...running import run as run_scenario
from ...scenario import Scenario, part
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Kind, Mean, at_least, below, missing, percent
from . import disk, rules
from .disk import numbers
from .options import Options

HOST_MS = (0.0, 0.1, 0.3, 0.6, 1.0, 2.0)
"""Overheads of a request that hosts had."""
UTILISATION = 0.8
MS = "response_ms"

PAUSES_MS = (3, 10, 30, 100, 300, 1000)
"""Idle intervals between bursts."""
SHORT_MS = 100
BURST = 32
WRITE_MS = 0.7
"""About what an eager write takes at this utilisation, without overhead."""
FAST_HOST_MS = 0.1
REQUESTS_MAX = 16_000
"""Writes of a run with pauses: these are long in time, and bursts are alike."""
SPAN_BLOCKS = 1 << 24
"""Addresses of the bursts, wrapped round the volume."""
IN_PLACE, EAGERLY = {"way": "in place"}, {"way": "eager"}


def _dilution(options: Options) -> float:
    return options.dilution or 1 / UTILISATION


def _hosts(options: Options) -> list[Cell]:
    """Writes in place and eager ones, one at a time, under the overheads of several hosts."""
    hosts: Sequence[float] = HOST_MS if options.overhead_ms is None else (options.overhead_ms,)
    dilution = _dilution(options)
    found = []
    for host_ms in hosts[::2] if options.quick else hosts:
        drive = disk.drive(options, host_ms)
        load = part("iometer", requests=options.requests, depth=1, read_share=0)
        there = Scenario(workload=load, drive=drive, sched="fcfs", seed=options.seed)
        found.append(simulated({"host_ms": host_ms, **IN_PLACE}, there, numbers))
        anywhere = disk.scenario(
            options,
            overhead_ms=host_ms,
            dilution=dilution,
            sched="satf_ew",
            requests=disk.whole_sweep(options, dilution),
            depth=1,
            read_share=0,
        )
        marks = {"host_ms": host_ms, **EAGERLY}
        found.append(simulated(marks, anywhere.replace(warmup=0), numbers))
    return found


def _bursts(path: Path, *, count: int, period_us: int, seed: int) -> None:
    """Writes a trace: bursts of random 4-KB writes, each burst at one instant."""
    rng = random.Random(seed)
    with path.open("w") as file:
        file.write("time_us,dev,lba,blocks,op\n")
        for number in range(count):
            for index in range(BURST):
                lba = rng.randrange(SPAN_BLOCKS // 8) * 8
                file.write(f"{1 + number * period_us + index},0,{lba},8,W\n")


def _pauses(options: Options) -> list[Cell]:
    """Eager writing with and without compaction, for idle intervals of several lengths."""
    return [
        _pause(options, pause, compact)
        for pause in (PAUSES_MS[1:4:2] if options.quick else PAUSES_MS)
        for compact in (False, True)
    ]


def _pause(options: Options, pause: int, compact: bool) -> Cell:
    overhead = FAST_HOST_MS if options.overhead_ms is None else options.overhead_ms
    dilution = _dilution(options)
    aging = disk.aging(options, dilution)
    place = part("eager", dilution=dilution, aging=aging, compact=compact)
    period_us = int((BURST * (overhead + WRITE_MS) + pause) * 1_000)

    def run(seeds: Sequence[int]) -> list[Row]:
        rows = []
        for seed in seeds:
            with TemporaryDirectory() as directory:
                path = Path(directory) / "bursts.csv"
                count = min(options.requests, REQUESTS_MAX) // BURST
                _bursts(path, count=count, period_us=period_us, seed=seed)
                base = Scenario(
                    trace=str(path),
                    replay="open",
                    fit="wrap",
                    drive=disk.drive(options, overhead),
                    place=place,
                    sched="satf_ew",
                    seed=seed,
                )
                done = run_scenario(base, series=False).runs[0]
            rows.append({"seed": seed, MS: done.response_ms.mean})
        return rows

    return Cell({"pause_ms": pause, "compact": compact}, run)


def compaction(table: Table) -> Found:
    """F14."""
    gains = {
        pause: table.lead(MS, {"compact": True}, {"compact": False}, pause_ms=pause)
        for pause in table.values("pause_ms")
    }
    told = ", ".join(f"{percent(gain)} at {pause} ms" for pause, gain in gains.items())
    best = min(gains, key=lambda pause: gains[pause].value)
    short = max(pause for pause in gains if pause <= SHORT_MS)
    columns = (
        (MS, {"compact": compact, "pause_ms": pause})
        for pause in (short, best)
        for compact in (True, False)
    )
    most = table.each(lambda a, b, c, d: (1 - a / b) - 0.8 * (1 - c / d), *columns)
    return Found(
        [
            Check(
                f"response with compaction against without, {short} ms idle",
                gains[short],
                below(0.0),
            ),
            Check(f"what {short} ms gain beyond four fifths of the most", most, at_least(0.0)),
            missing("log cleaning: there is no log-structured system to hold against it"),
        ],
        told,
    )


def speed_up(table: Table) -> dict[float, Mean]:
    """How much sooner an eager write is done than one in place, by the overhead of the host."""
    return {
        host: table.each(
            lambda there, anywhere: there / anywhere,
            (MS, {"host_ms": host, **IN_PLACE}),
            (MS, {"host_ms": host, **EAGERLY}),
        )
        for host in table.values("host_ms")
    }


def far_ahead(table: Table) -> Found:
    """F12."""
    gains = speed_up(table)
    least = min(gains)
    told = ", ".join(f"{gain.value:.1f} at {host:g} ms" for host, gain in gains.items())
    what = f"in place to eager at {least:g} ms of overhead"
    return Found([Check(what, gains[least], at_least(5.0), "times")], f"times {told}")


def hidden(table: Table) -> Found:
    """F13."""
    checks = []
    for less, more in pairwise(table.values("host_ms")):
        columns = (
            (MS, {"host_ms": host, **way}) for host in (more, less) for way in (IN_PLACE, EAGERLY)
        )
        change = table.each(lambda a, b, c, d: a / b / (c / d) - 1, *columns)
        checks.append(
            Check(f"speed-up from {less:g} to {more:g} ms of overhead", change, below(0.0))
        )
    return Found(checks)


def no_ranges(table: Table) -> Found:
    """F15."""
    return Found(
        [
            missing(
                "eager writes offer no ranges: see B7 and C10 to C12 of the study of range writes"
            )
        ]
    )


_statement = partial(Statement, turns=False)

STATEMENTS = [
    *rules.STATEMENTS,
    _statement(
        id="F12",
        kind=Kind.NUMBER,
        statement="Random synchronous 4-KB overwrites, fast host, 80 % utilisation: eager far "
        "ahead of in place",
        published="almost 10 times",
        range="the least overhead, a whole sweep; far ahead: 5 times at least",
        judge=far_ahead,
    ),
    _statement(
        id="F13",
        kind=Kind.ORDER,
        statement="Host and bus overhead hide the gain on slower platforms",
        published="no number (virtual log, OSDI 1999)",
        range="overheads of 0 to 2 ms a request, from each to the next",
        judge=hidden,
    ),
    _statement(
        id="F14",
        kind=Kind.ORDER,
        statement="Compaction profits from short idle intervals, log cleaning only from long ones",
        published="no number (virtual log, OSDI 1999)",
        range=f"bursts of {BURST} writes, {REQUESTS_MAX:,} at most; short: up to {SHORT_MS} ms, "
        "which gain four fifths of what the best interval does",
        judge=compaction,
    ),
    _statement(
        id="F15",
        kind=Kind.NUMBER,
        statement="Eager choice within a range removes rotation; few candidates give most of the "
        "gain",
        published="12 to 4 ms with 64 x 100 targets on a 5,400-RPM disk (range writes, OSDI 2008)",
        range="nothing",
        judge=no_ranges,
    ),
]


def cells(options: Options) -> list[Cell]:
    """The rules, hosts of several overheads, and bursts with pauses between them."""
    return [*rules.cells(options), *_hosts(options), *_pauses(options)]


def draw(outcome: Outcome, path: Path) -> None:
    """Speed-up over overhead."""
    from matplotlib.figure import Figure

    gains = speed_up(Table(outcome.runs))
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    panel = figure.subplots()
    panel.plot(list(gains), [gain.value for gain in gains.values()], marker="o")
    panel.set_xlabel("overhead of a request (ms)")
    panel.set_ylabel("speed-up of eager writing over in place")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="ew-mechanisms",
    question="Which rules are kept to the letter, and what does eager writing gain on one drive?",
    source=f"{disk.SOURCE}; Wang, Anderson and Patterson, Virtual Log Based File Systems, OSDI "
    "1999",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    needs=("pyarrow",),
)
