"""Start-up times: three applications, five loads, five schedulers, two disks and an SSD."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Table
from ..verdict import Check, Kind, Mean, above, at_least, at_most, within
from .options import READS, Options
from .setup import (
    APPLICATIONS,
    BUSY,
    DEVICES,
    DISKS,
    HITACHI,
    IDLE,
    LOADS,
    LOWRITER,
    MIXED,
    MIXED_RANDOM,
    OTHERS,
    PLEXTOR,
    RANDOM,
    SCHEDULERS,
    SEAGATE,
    SEQUENTIAL,
    at,
    startup,
    times,
    told,
    up,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIKE_IDLE = 1.5
"""So many times the time on an idle device is still like it."""


def cells(options: Options) -> list[Cell]:
    """The matrix."""
    applications = APPLICATIONS[1:] if options.quick else APPLICATIONS
    return [
        startup(options, device, load, application, sched)
        for device in DEVICES
        for application in applications
        for load in LOADS
        for sched in SCHEDULERS
    ]


def _against_idle(table: Table, device: str, load: str, application: str) -> Mean:
    return times(table, at(device, load, application), at(device, IDLE, application))


def _row(table: Table, device: str, load: str, application: str) -> str:
    of = (f"{name} {told(table, at(device, load, application, name))}" for name in SCHEDULERS)
    return f"{load}: {', '.join(of)}"


def like_idle(table: Table) -> Found:
    """A2."""
    checks = [
        Check(
            f"{load}, times idle",
            _against_idle(table, HITACHI, load, LOWRITER),
            at_most(LIKE_IDLE),
            "",
        )
        for load in (SEQUENTIAL, RANDOM, MIXED_RANDOM)
    ]
    rows = "; ".join(_row(table, HITACHI, load, LOWRITER) for load in LOADS)
    return Found(checks, f"seconds, lowriter on HITACHI: {rows}")


def others_fail(table: Table) -> Found:
    """A3."""
    checks = [
        Check(
            f"{sched}, {load}, share up in time",
            up(table, at(HITACHI, load, LOWRITER, sched)),
            at_most(0.0),
            "",
        )
        for sched in OTHERS
        for load in BUSY
    ]
    return Found(checks)


def writers_cost(table: Table) -> Found:
    """A4."""
    checks = [
        Check(
            f"5r5w-seq against {load}, times",
            times(table, at(HITACHI, MIXED, LOWRITER), at(HITACHI, load, LOWRITER)),
            above(1.0),
            "",
        )
        for load in (SEQUENTIAL, RANDOM, MIXED_RANDOM)
    ]
    in_time = Check(
        "5r5w-seq, share up in time", up(table, at(HITACHI, MIXED, LOWRITER)), at_least(1.0), ""
    )
    return Found([*checks, in_time])


def doubles(device: str) -> Statement:
    """A5 and B6."""

    def judge(table: Table) -> Found:
        found = _against_idle(table, device, MIXED, LOWRITER)
        return Found([Check("5r5w-seq, times idle", found, within(1.5, 2.5), "")])

    return Statement(
        id="A5" if device == HITACHI else "B6",
        kind=Kind.ORDER,
        statement=f"With writers lowriter takes almost twice as long with bfq, {device}",
        published='"almost doubles" (4.18 and 4.19 pages)',
        range="lowriter, 5r5w-seq; 1.5 to 2.5 times idle",
        judge=judge,
    )


def _first(table: Table, device: str, load: str, application: str) -> str:
    """The scheduler with which an application is up first."""
    found = {
        name: table.mean("startup_s", **at(device, load, application, name)).value
        for name in SCHEDULERS
    }
    return min(found, key=found.__getitem__)


def same_order(table: Table) -> Found:
    """A7."""
    checks = []
    for application in table.values("application"):
        for load in BUSY:
            first = {device: _first(table, device, load, application) for device in DISKS}
            same = Mean.exact(float(first[HITACHI] == first[SEAGATE]))
            checks.append(
                Check(f"{application}, {load}: first on both disks", same, at_least(1.0), "")
            )
    return Found(checks)


def first_of_all(table: Table) -> Found:
    """A8."""
    checks = []
    for application in table.values("application"):
        for load in BUSY:
            own = at(HITACHI, load, application)
            for sched in OTHERS:
                lead = times(table, at(HITACHI, load, application, sched), own)
                checks.append(
                    Check(f"{application}, {load}: {sched} to bfq, times", lead, above(1.0), "")
                )
    rows = [
        f"{application}: {'; '.join(_row(table, HITACHI, load, application) for load in LOADS)}"
        for application in table.values("application")
    ]
    return Found(checks, f"seconds on HITACHI: {'. '.join(rows)}")


def ten_times(table: Table) -> Found:
    """A9. An X counts as the limit, so what is found is the least that it may be."""
    checks = []
    for application in table.values("application"):
        own = at(HITACHI, SEQUENTIAL, application)
        for sched in OTHERS:
            lead = times(table, at(HITACHI, SEQUENTIAL, application, sched), own)
            checks.append(
                Check(f"{application}: {sched} to bfq, at least times", lead, at_least(10.0), "")
            )
    return Found(checks)


def flash_like_idle(table: Table) -> Found:
    """B7."""
    checks = [
        Check(
            f"{load}, times idle",
            _against_idle(table, PLEXTOR, load, LOWRITER),
            at_most(LIKE_IDLE),
            "",
        )
        for load in (SEQUENTIAL, MIXED)
    ]
    more = times(table, at(PLEXTOR, MIXED, LOWRITER), at(PLEXTOR, SEQUENTIAL, LOWRITER))
    checks.append(Check("5r5w-seq against 10r-seq, times", more, above(1.0), ""))
    for sched in OTHERS:
        for load in (SEQUENTIAL, MIXED):
            lead = times(table, at(PLEXTOR, load, LOWRITER, sched), at(PLEXTOR, load, LOWRITER))
            checks.append(Check(f"{sched} to bfq, {load}, times", lead, at_least(2.0), ""))
    rows = "; ".join(_row(table, PLEXTOR, load, LOWRITER) for load in LOADS)
    return Found(checks, f"seconds, lowriter on PLEXTOR: {rows}")


def price(table: Table) -> Found:
    """D0."""
    pieces = []
    for load in BUSY:
        of = (
            f"{name} {table.mean('others_mb_s', **at(HITACHI, load, LOWRITER, name)).value:.3g}"
            for name in SCHEDULERS
        )
        pieces.append(f"{load}: {', '.join(of)}")
    return Found(
        [],
        f"MB/s of the others in the first ten seconds, lowriter, HITACHI: {'; '.join(pieces)}",
    )


def speed(table: Table) -> Found:
    """S1."""
    spent = sum(row["simulated_in_s"] for row in table.rows)
    simulated = sum(row["duration_s"] for row in table.rows)
    return Found(
        [],
        f"{simulated:.0f} s were simulated in {spent:.0f} s of runs by the clock, "
        f"{simulated / spent:.0f} times as fast",
    )


STATEMENTS = [
    Statement(
        id="A2",
        kind=Kind.ORDER,
        statement="With bfq lowriter starts about as fast as on an idle disk but for 5r5w-seq",
        published="extra results, lowriter, HITACHI",
        range=f"10r-seq, 10r-rand, 5r5w-rand; at most {LIKE_IDLE} times idle",
        judge=like_idle,
    ),
    Statement(
        id="A3",
        kind=Kind.ORDER,
        statement="With every other scheduler lowriter is not up in time beside any load",
        published="extra results, lowriter, HITACHI: X throughout, at 60 s",
        range="four loads, cfq, mq-deadline, kyber, none; every seed",
        judge=others_fail,
    ),
    Statement(
        id="A4",
        kind=Kind.ORDER,
        statement="With bfq 5r5w-seq takes longest of all loads, and lowriter is up in time",
        published="extra results, lowriter, HITACHI",
        range="lowriter against the three other loads",
        judge=writers_cost,
    ),
    doubles(HITACHI),
    Statement(
        id="A7",
        kind=Kind.ORDER,
        statement="The other disk puts the same scheduler first",
        published="extra results: SEAGATE was left, as relative results were the same",
        range="every application and load, SEAGATE and HITACHI",
        judge=same_order,
    ),
    Statement(
        id="A8",
        kind=Kind.ORDER,
        statement="bash and xterm follow the same pattern: bfq is first",
        published="main pages",
        range="every application and load on HITACHI",
        judge=first_of_all,
    ),
    Statement(
        id="A9",
        kind=Kind.NUMBER,
        statement="With bfq start-ups beside a load take a tenth of the time or less",
        published="at least 10 times as fast (author, 2019)",
        range="10r-seq on HITACHI; an X counts as the limit",
        judge=ten_times,
    ),
    doubles(PLEXTOR),
    Statement(
        id="B7",
        kind=Kind.ORDER,
        statement="On the SSD bfq is like idle, slower with writers, and the others are far worse",
        published="4.19 page, PLEXTOR, lowriter",
        range=f"10r-seq and 5r5w-seq; at most {LIKE_IDLE} times idle, others twice as long",
        judge=flash_like_idle,
    ),
    Statement(
        id="D0",
        kind=Kind.INFORMATION,
        statement="What the others read and write meanwhile",
        published="not published",
        range="lowriter on HITACHI",
        judge=price,
    ),
    Statement(
        id="S1",
        kind=Kind.INFORMATION,
        statement="How much faster than real time the matrix is simulated",
        published="not published",
        range="the matrix",
        judge=speed,
    ),
]


LOG_FROM = 30.0
"""Times that differ by more are drawn on a logarithmic axis."""


def draw(outcome: Outcome, path: Path) -> None:
    """Bars as the pages have them, with the idle time as a line, and what the others moved."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    applications = table.values("application")
    size = (4.2 * len(DEVICES), 2.9 * (len(applications) + 1))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(applications) + 1, len(DEVICES), squeeze=False)
    for row, application in zip(panels, applications, strict=False):
        for panel, device in zip(row, DEVICES, strict=True):
            _bars(panel, table, device, application)
    for panel, device in zip(panels[-1], DEVICES, strict=True):
        _price(panel, table, device, applications[-1])
    names = panels[0][0].get_legend_handles_labels()
    figure.legend(*names, loc="outside upper center", ncols=len(SCHEDULERS) + 1, fontsize=7)
    figure.savefig(path)


def _across(panel: Axes, place: int) -> list[float]:
    """Where the bars of a scheduler stand; the loads are named below."""
    panel.set_xticks([index + 0.3 for index in range(len(BUSY))], BUSY, fontsize=7)
    return [index + place * 0.8 / len(SCHEDULERS) for index in range(len(BUSY))]


def _bars(panel: Axes, table: Table, device: str, application: str) -> None:
    width = 0.8 / len(SCHEDULERS)
    limit = max(row["startup_s"] for row in table.rows)
    idle = table.mean("startup_s", **at(device, IDLE, application)).value
    lowest = idle
    for place, name in enumerate(SCHEDULERS):
        across = _across(panel, place)
        points = [at(device, load, application, name) for load in BUSY]
        is_up = [up(table, point).value == 1 for point in points]
        means = [table.mean("startup_s", **point) for point in points]
        lowest = min([lowest, *(mean.value for mean in means)])
        heights = [mean.value if shown else 0.0 for mean, shown in zip(means, is_up, strict=True)]
        spreads = [
            (mean.ci or 0.0) if shown else 0.0 for mean, shown in zip(means, is_up, strict=True)
        ]
        bars = panel.bar(across, heights, width, yerr=spreads, label=name)
        color = bars.patches[0].get_facecolor()
        for x, shown in zip(across, is_up, strict=True):
            if not shown:
                panel.bar(x, limit, width, color="none", edgecolor=color, hatch="///", linewidth=0)
                panel.text(x, limit, "X", ha="center", va="bottom", fontsize=7)
    panel.axhline(idle, color="black", linewidth=0.8, linestyle="--", label="idle")
    words = f"{application}, {device}; idle {idle:.3g} s; X: not up in {limit:.3g} s"
    panel.set_title(words, fontsize=8)
    panel.set_ylabel("start-up (s)", fontsize=7)
    if limit > LOG_FROM * lowest:
        panel.set_yscale("log")
        panel.set_ylim(lowest / 2, limit * 2)
    else:
        panel.set_ylim(0, limit * 1.1)


def _price(panel: Axes, table: Table, device: str, application: str) -> None:
    for place, name in enumerate(SCHEDULERS):
        points = [at(device, load, application, name) for load in BUSY]
        moved = [table.mean("others_mb_s", **point).value for point in points]
        panel.bar(_across(panel, place), moved, 0.8 / len(SCHEDULERS))
    words = f"the others beside {application}, {device}; first ten seconds, with memory"
    panel.set_title(words, fontsize=8)
    panel.set_ylabel("MB/s", fontsize=7)


EXPERIMENT = Experiment(
    name="bfq-startups",
    question="How long does an application take until it is up, beside greedy readers and writers?",
    source="BFQ pages: extra results, 4.18, 4.19",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    reads=READS - {"fast"},
)
