"""The host, the loads and the schedulers of the study, in one place.

What the benchmark suite S does: greedy readers and writers begin, the workload settles, the
application is started with a cold cache; with writers, somebody syncs every two seconds.
"""

from __future__ import annotations

from functools import partial

from ...runs import Run
from ...scenario import Scenario
from ..table import Cell, Row, Table, simulated
from ..verdict import Mean, Where
from .options import Options

HITACHI, SEAGATE, PLEXTOR, FAST = "HITACHI", "SEAGATE", "PLEXTOR", "FAST"
DISKS = (HITACHI, SEAGATE)
DEVICES = (HITACHI, SEAGATE, PLEXTOR)

BASH, XTERM, LOWRITER, GNOMETERM = "bash", "xterm", "lowriter", "gnometerm"
APPLICATIONS = (BASH, XTERM, LOWRITER)

IDLE = "0r0w"
SEQUENTIAL, RANDOM, MIXED, MIXED_RANDOM = "10r-seq", "10r-rand", "5r5w-seq", "5r5w-rand"
LOADS = (IDLE, SEQUENTIAL, RANDOM, MIXED, MIXED_RANDOM)
BUSY = LOADS[1:]

BFQ, NONE = "bfq", "none"
POOL = 64
"""Requests of a scheduler for a drive with a queue of 32, in Linux."""
FIRST_THINK = ":first_think=none"
SCHEDULERS = {
    BFQ: f"bfq:nr_requests={POOL}{FIRST_THINK}",
    "cfq": "cfq",
    "mq-deadline": f"mq-deadline:nr_requests={POOL}",
    "kyber": f"kyber:nr_requests={POOL}",
    NONE: "fcfs",
}
"""As in the kernels of the pages, which are older than Linux 6.9."""
PRESENT = {**SCHEDULERS, BFQ: f"bfq:nr_requests={POOL}"}
"""As in the kernel whose own schedulers were measured."""
OTHERS = tuple(name for name in SCHEDULERS if name != BFQ)

LAUNCH_S = 7.0
"""When the application is started: by then the workload's own favours have ended."""


def drive(options: Options, device: str) -> str:
    """The drive that stands for a device."""
    drives = {
        HITACHI: options.hitachi,
        SEAGATE: options.seagate,
        PLEXTOR: options.plextor,
        FAST: options.fast,
    }
    return drives[device]


def scenario(
    options: Options, device: str, load: str, application: str, sched: str, **host: object
) -> Scenario:
    """A start-up beside a load; `host` are other settings of the host."""
    workload = {
        "name": "host",
        "launch": application,
        "launch_s": LAUNCH_S,
        "seconds": LAUNCH_S + options.limit_s,
        "beside": load,
        "memory": options.memory,
        **host,
    }
    return Scenario(workload=workload, drive=drive(options, device), sched=sched)


def numbers(options: Options, run: Run) -> Row:
    """What is told of a start-up; one that was not up counts as the limit."""
    host = run.measures["host"]
    # Readers alone start nothing, so they are never up.
    up = "startup_s" in host
    return {
        "startup_s": host["startup_s"] if up else options.limit_s,
        "up": up,
        "read_mb_s": host["read_mb_s"],
        "written_mb_s": host["written_mb_s"],
        "others_mb_s": host["read_mb_s"] + host["written_mb_s"],
        "device_mb_s": run.throughput_mb_s,
        "held_s": host["held_s"],
        "write_longest_s": run.write_response_ms.max / 1000 if run.write_response_ms else 0.0,
        "duration_s": run.duration_s,
        "simulated_in_s": run.simulated_in_s,
    }


def cell(options: Options, one: Scenario, marks: Where) -> Cell:
    """A point of a grid."""
    return simulated(marks, one, partial(numbers, options))


def startup(
    options: Options,
    device: str,
    load: str,
    application: str,
    sched: str,
    *,
    settings: str = "",
    cause: str = "",
    **host: object,
) -> Cell:
    """A start-up under a scheduler; `settings` of it and of the host are told as `cause`."""
    word = SCHEDULERS[sched] + (f":{settings}" if settings else "")
    if "slice_idle_ms=0" in settings:
        # Where nobody is waited for, no think time counts: bfq refuses to be told of the first.
        word = word.replace(FIRST_THINK, "")
    one = scenario(options, device, load, application, word, **host)
    marks = {"device": device, "load": load, "application": application, "sched": sched}
    return cell(options, one, {**marks, "cause": cause})


def at(
    device: str, load: str, application: str, sched: str = BFQ, cause: str = ""
) -> dict[str, object]:
    """The marks of a start-up."""
    return {
        "device": device,
        "load": load,
        "application": application,
        "sched": sched,
        "cause": cause,
    }


def times(table: Table, one: Where, other: Where, key: str = "startup_s") -> Mean:
    """How many times as large a number is at one point as at another, seed by seed."""
    return table.each(lambda above, below: above / below, (key, one), (key, other))


def up(table: Table, where: Where) -> Mean:
    """The share of seeds with which the application was up in time, as an exact value."""
    found = list(table.by_seed("up", **where).values())
    return Mean.exact(sum(found) / len(found))


def told(table: Table, where: Where) -> str:
    """How long a start-up took, or X."""
    if up(table, where).value < 1:
        return "X"
    return f"{table.mean('startup_s', **where).value:.3g}"
