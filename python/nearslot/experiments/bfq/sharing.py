"""Throughput, shares by weight, and a player that must not drop frames."""

from __future__ import annotations

from ...runs import Run
from ...scenario import Scenario
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Kind, Mean, at_most, within
from .options import READS, Options
from .setup import (
    BFQ,
    BUSY,
    HITACHI,
    LOADS,
    MIXED,
    NONE,
    OTHERS,
    PLEXTOR,
    RANDOM,
    SCHEDULERS,
    SEQUENTIAL,
    drive,
)

PLAIN = "bfq, throughput"
"""bfq as its manual says for throughput: without favours."""
MOVED = {**SCHEDULERS, PLAIN: f"{SCHEDULERS[BFQ]}:low_latency=false"}
ONE_READER = "1r-seq"
MEASURED = (ONE_READER, *BUSY)
SECONDS = 10.0
UNREAD = "2GiB"
"""Files that are not read twice in that time."""

WEIGHTS = ((100, 100), (100, 200), (100, 1000))
PLAYER = {
    "name": "player",
    "file": "64MiB",
    "every_ms": 125,
    "times": 160,
    "start_s": 7,
    "class": "best-effort",
    "steps": [{"read": "64KiB", "direct": True}],
}
"""Twenty seconds of 4 Mbit/s, read when it is due: a player without a buffer of its own."""


def _scenario(options: Options, device: str, sched: str, **host: object) -> Scenario:
    workload = {"name": "host", **host}
    return Scenario(workload=workload, drive=drive(options, device), sched=sched)


def _moved(run: Run) -> Row:
    return {"mb_s": run.throughput_mb_s}


def _late(run: Run) -> Row:
    host = run.measures["host"]
    player = next(one for one in run.processes if one.name == "player")
    wanted = PLAYER["times"]
    assert isinstance(wanted, int)
    # What was not played in time counts as dropped.
    late = (player.late or 0) + wanted - player.rounds
    return {
        "late_percent": late * 100 / wanted,
        "others_mb_s": host["read_mb_s"] - player.read_mb_s,
    }


def _shares(run: Run) -> Row:
    one, other = run.processes
    return {"share": other.read_mb_s / one.read_mb_s, "mb_s": one.read_mb_s + other.read_mb_s}


def cells(options: Options) -> list[Cell]:
    """Loads alone, two readers with weights, a player beside loads."""
    moved = [
        simulated(
            {"what": "moved", "device": device, "load": load, "sched": name},
            _scenario(
                options,
                device,
                sched,
                beside=load,
                file=UNREAD,
                seconds=SECONDS,
                memory=options.memory,
            ),
            _moved,
        )
        for device in (HITACHI, PLEXTOR)
        for load in MEASURED
        for name, sched in MOVED.items()
    ]
    # A small page cache, so that files are read again.
    readers = [{"name": name, "steps": [{"read": "4KiB"}]} for name in ("one", "other")]
    shares = [
        simulated(
            {"what": "shares", "weights": f"{one}:{other}"},
            _scenario(
                options,
                HITACHI,
                MOVED[PLAIN],
                process=readers,
                seconds=2 * SECONDS,
                memory="64MiB",
            ).replace(claims=f"told:weight=1={one} 2={other}"),
            _shares,
        )
        for one, other in WEIGHTS
    ]
    players = [
        simulated(
            {"what": "player", "load": load, "sched": name},
            _scenario(
                options,
                HITACHI,
                sched,
                beside=load,
                process=[PLAYER],
                seconds=60,
                memory=options.memory,
            ),
            _late,
        )
        for load in LOADS
        for name, sched in SCHEDULERS.items()
    ]
    return [*moved, *shares, *players]


def _at(device: str, load: str, sched: str) -> dict[str, object]:
    return {"what": "moved", "device": device, "load": load, "sched": sched}


def _more(table: Table, device: str, load: str, sched: str, other: str) -> Mean:
    return table.lead("mb_s", _at(device, load, sched), _at(device, load, other))


def _rates(table: Table, device: str) -> str:
    rows = []
    for load in MEASURED:
        of = (f"{name} {table.mean('mb_s', **_at(device, load, name)).value:.3g}" for name in MOVED)
        rows.append(f"{load}: {', '.join(of)}")
    return f"MB/s on {device}: {'; '.join(rows)}"


def _up_to(other: str, least: float, most: float) -> Statement:
    def judge(table: Table) -> Found:
        found = {load: _more(table, HITACHI, load, PLAIN, other) for load in (SEQUENTIAL, MIXED)}
        best = max(found, key=lambda load: found[load].value)
        check = Check(f"most, at {best}", found[best], within(least, most))
        return Found([check], _rates(table, HITACHI))

    share = round((least + most) * 50)
    names = {"cfq": "D1", NONE: "D2"}
    return Statement(
        id=names[other],
        kind=Kind.NUMBER,
        statement=f"With sequential loads on a disk bfq moves up to {share} % more than {other}",
        published=f"up to +{share} %",
        range=f"10r-seq and 5r5w-seq on HITACHI, without favours; {least:.0%} to {most:.0%}",
        judge=judge,
    )


def equal(table: Table) -> Found:
    """D3."""
    checks = [
        Check(
            f"{device}, {load}: bfq against {other}",
            _more(table, device, load, PLAIN, other),
            within(-0.1, 0.1),
        )
        for device, loads in ((HITACHI, (RANDOM,)), (PLEXTOR, BUSY))
        for load in loads
        for other in OTHERS
    ]
    return Found(checks, _rates(table, PLEXTOR))


def by_weight(table: Table) -> Found:
    """W1."""
    checks = []
    for one, other in WEIGHTS:
        found = table.mean("share", what="shares", weights=f"{one}:{other}")
        wanted = other / one
        checks.append(Check(f"{one}:{other}", found, within(0.9 * wanted, 1.1 * wanted), "times"))
    return Found(checks)


def _dropped(table: Table, load: str, sched: str) -> Mean:
    return table.mean("late_percent", what="player", load=load, sched=sched)


def plays(table: Table) -> Found:
    """I2."""
    checks = [
        Check(f"{load}", _dropped(table, load, BFQ), at_most(1.0), "% late") for load in LOADS
    ]
    rows = []
    for load in LOADS:
        of = (f"{name} {_dropped(table, load, name).value:.3g}" for name in SCHEDULERS)
        rows.append(f"{load}: {', '.join(of)}")
    return Found(checks, f"% of frames late on HITACHI: {'; '.join(rows)}")


STATEMENTS: list[Statement] = [
    _up_to("cfq", 0.15, 0.45),
    _up_to(NONE, 1.2, 1.8),
    Statement(
        id="D3",
        kind=Kind.NUMBER,
        statement="With random loads, and on flash, bfq moves about as much as the others",
        published="about equal",
        range="10r-rand on HITACHI, four loads on PLEXTOR, without favours; within 10 %",
        judge=equal,
    ),
    Statement(
        id="W1",
        kind=Kind.OWN,
        statement="Two readers in a row get shares by weight",
        published="suite S, fairness: 100:100, 100:200, 100:1000",
        range="HITACHI, without favours, 20 s; within 10 %",
        judge=by_weight,
    ),
    Statement(
        id="I2",
        kind=Kind.ORDER,
        statement="With bfq a player drops hardly a frame, whatever is beside it",
        published="manual; values are in charts alone",
        range="a player without a buffer, 4 Mbit/s, HITACHI; at most 1 % late",
        judge=plays,
    ),
]

EXPERIMENT = Experiment(
    name="bfq-sharing",
    question="What does bfq cost in throughput, and does it share as it is told?",
    source="Linux manual of BFQ; suite S, throughput, fairness, video",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset({"hitachi", "plextor", "memory"}) & READS,
)
