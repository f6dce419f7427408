"""Each claim of the study is decided on numbers that are as published, and each fault is seen.

No engine runs. Numbers are those of the pages where they have some, and else follow their words. A
fault changes some of them, as a fault of a scheduler, of the page cache or of a drive would.
"""

from __future__ import annotations

from typing import Any

from claims import Claims, ClaimTests, Fault, each, scaled
from nearslot.experiments.bfq import (
    STUDY,
    ablations,
    causes,
    costs,
    emulated,
    kernel,
    setup,
    sharing,
    variants,
    volumes,
)
from nearslot.experiments.table import Row

LIMIT_S = 60.0

IDLE_S = {"bash": 0.3, "xterm": 0.9, "lowriter": 4.0, "gnometerm": 0.6}


def start(marks: dict[str, Any], took: float | None, **numbers: float) -> Row:
    """A start-up that took so long; None is an X."""
    return {
        **marks,
        "up": took is not None,
        "startup_s": LIMIT_S if took is None else took,
        "others_mb_s": 50.0,
        "read_mb_s": 30.0,
        "written_mb_s": 20.0,
        "device_mb_s": 50.0,
        "held_s": 1.0,
        "write_longest_s": 1.0,
        "duration_s": 20.0,
        "simulated_in_s": 0.1,
        **numbers,
    }


def matrix() -> list[Row]:
    """What the pages say in words."""
    rows = []
    for device in setup.DEVICES:
        for application in setup.APPLICATIONS:
            alone = IDLE_S[application]
            if device == setup.PLEXTOR:
                alone /= 4
            for load in setup.LOADS:
                for sched in setup.SCHEDULERS:
                    marks = setup.at(device, load, application, sched)
                    slower = {setup.MIXED: 1.9 if device != setup.PLEXTOR else 1.5}.get(load, 1.1)
                    if load == setup.IDLE:
                        rows.append(start(marks, alone))
                    elif sched == setup.BFQ:
                        rows.append(start(marks, alone * slower))
                    elif application == "lowriter":
                        rows.append(start(marks, None))
                    else:
                        rows.append(start(marks, alone * 30))
    return rows


def of_causes() -> list[Row]:
    """The published explanation, taken at its word."""
    marks = {
        (cause, load): setup.at(setup.HITACHI, load, "lowriter", setup.BFQ, cause)
        for load in (setup.IDLE, setup.MIXED, setup.SEQUENTIAL)
        for cause in ("", causes.NO_WRITES, causes.OWNED, causes.ROOM, causes.NO_SYNC)
    }
    rows = [
        start(marks["", setup.IDLE], 4.0),
        start(marks["", setup.MIXED], 7.6),
        start(marks["", setup.SEQUENTIAL], 4.4),
        start(marks[causes.NO_WRITES, setup.IDLE], 3.9),
        start(marks[causes.NO_WRITES, setup.SEQUENTIAL], 4.2),
        start(marks[causes.NO_WRITES, setup.MIXED], 4.3),
        start(marks[causes.OWNED, setup.MIXED], 5.0),
        start(marks[causes.ROOM, setup.MIXED], 5.0),
        start(marks[causes.NO_SYNC, setup.MIXED], 6.0),
        start(setup.at(setup.HITACHI, setup.IDLE, "xterm"), 0.9),
        start(setup.at(setup.HITACHI, setup.MIXED, "xterm"), 1.0),
    ]
    for ms in causes.EXPIRIES:
        point = setup.at(setup.HITACHI, setup.MIXED, "lowriter", setup.BFQ, causes.expiry(ms))
        rows.append(start(point, 5 + ms / 100, device_mb_s=40 + ms / 50, write_longest_s=ms / 100))
    for count in causes.CHARGES:
        point = setup.at(setup.HITACHI, setup.MIXED, "lowriter", setup.BFQ, causes.charge(count))
        rows.append(start(point, 7.0))
    return rows


def of_ablations() -> list[Row]:
    """The numbers of the commits."""

    def one(device: str, load: str, application: str, took: float, cause: str = "") -> Row:
        return start(setup.at(device, load, application, setup.BFQ, cause), took)

    short = ablations.SHORT_IDLING
    times = {"": 1.0, ablations.NO_FAVOURS: 30.0, short: 1.3, ablations.NO_FOREIGN: 1.1}
    times[ablations.NO_IDLING] = 20.0
    disk, flash, fast = setup.HITACHI, setup.PLEXTOR, setup.FAST
    writes = ablations.WRITES
    return [
        *(one(disk, setup.SEQUENTIAL, "xterm", took, cause) for cause, took in times.items()),
        one(flash, setup.IDLE, "gnometerm", 0.6),
        one(flash, setup.SEQUENTIAL, "gnometerm", 0.8),
        one(flash, setup.SEQUENTIAL, "gnometerm", 1.2, short),
        one(flash, setup.MIXED, "gnometerm", 1.0),
        one(flash, setup.MIXED, "gnometerm", 2.0, short),
        one(fast, writes, "gnometerm", 1.5),
        one(fast, writes, "gnometerm", 15.0, ablations.NO_FOREIGN),
        one(fast, setup.IDLE, "gnometerm", 0.3),
        *(start(setup.at(fast, writes, "gnometerm", sched), 35.0) for sched in setup.OTHERS),
    ]


def of_sharing() -> list[Row]:
    """The manual's numbers."""
    rows: list[Row] = []
    moved = {sharing.PLAIN: 80.0, setup.BFQ: 78.0, "cfq": 62.0, setup.NONE: 32.0}
    for device in (setup.HITACHI, setup.PLEXTOR):
        for load in sharing.MEASURED:
            for sched in sharing.MOVED:
                marks = {"what": "moved", "device": device, "load": load, "sched": sched}
                ordered = device == setup.HITACHI and load != setup.RANDOM
                rows.append({**marks, "mb_s": moved.get(sched, 35.0) if ordered else 50.0})
    for one, other in sharing.WEIGHTS:
        marks = {"what": "shares", "weights": f"{one}:{other}"}
        rows.append({**marks, "share": other / one, "mb_s": 80.0})
    for load in setup.LOADS:
        for sched in setup.SCHEDULERS:
            marks = {"what": "player", "load": load, "sched": sched}
            late = 0.0 if sched == setup.BFQ else 40.0
            rows.append({**marks, "late_percent": late, "others_mb_s": 50.0})
    return rows


def of_kernel() -> list[Row]:
    """The measurement itself, and beside it what rules let one expect."""
    rows = []
    for row in kernel.ROWS:
        for application, took in zip(emulated.APPLICATIONS, (row.bash, row.xterm), strict=True):
            marks = setup.at("kernel", row.load, application, row.sched)
            rows.append(start(marks, took))
        for size in kernel.SIZES if row.readers_mb_s else ():
            rows.append(read(row.sched, row.readers_mb_s or 0.0, size=size))
    return [*rows, *of_variants()]


def read(sched: str, rate: float, cause: str = "", **more: str) -> Row:
    """What the readers alone got, the slowest and the fastest of them as measured with bfq."""
    least, most = (of * rate / 64.6 for of in (kernel.LEAST_MB_S, kernel.MOST_MB_S))
    marks = emulated.readers_marks(sched, cause=cause, **more)
    return start(marks, None, read_mb_s=rate, least_mb_s=least, most_mb_s=most)


def of_variants() -> list[Row]:
    """Start-ups in seconds, and MB/s of the readers alone."""
    others = dict.fromkeys((variants.AHEAD, variants.FIFO, variants.NO_QUEUE), (15.0, 60.0))
    # With an eleventh of the drive: 11 times what they take alone.
    own = {variants.NO_FAVOURS: (3.5, 9.0), variants.ALL_WAITED: (3.5, 9.0)}
    rows = [read(sched, 68.0) for sched in ("mq-deadline", "kyber")]
    rows.append(read(setup.BFQ, 60.0, variants.KNOWN))
    for cause, of in variants.VARIANTS.items():
        for sched in of.scheds:
            if sched == setup.BFQ:
                took = own.get(cause, (0.8, 1.3))
                rate = {variants.STRICT: 50.0, variants.AHEAD: 25.0}.get(cause, 64.6)
            else:
                took, rate = others[cause], 20.0
            rows.append(read(sched, rate, cause))
            for application, seconds in zip(emulated.APPLICATIONS, took, strict=True):
                rows.append(
                    start(setup.at("kernel", "10r-seq", application, sched, cause), seconds)
                )
    for who in variants.SHARERS:
        for favours in variants.WEIGHED:
            marks = {"what": "weights", "who": who, "favours": favours}
            rows.append({**marks, "share": variants.WANTED, "mb_s": 64.6})
    return rows


def of_costs() -> list[Row]:
    """Nanoseconds of a simulated request."""
    none, beyond = 1000.0, {"none": 0.0, "mq-deadline": 700.0, "kyber": 300.0, "bfq": 1900.0}
    return [
        {"processes": count, "sched": sched, "ns": none + beyond[sched]}
        for count in costs.PROCESSES
        for sched in costs.LOOKED_AT
    ]


def of_volumes() -> list[Row]:
    """Waits in ms: of the protected volume, of all others."""
    rows: list[Row] = []
    for volume in volumes.PROTECTED:
        marks = {"volume": volume}
        rows.append({**marks, "how": "alone", "mean_ms": 6.0, "longest_ms": 20.0})
        for how in volumes.NAMES:
            protects = how in (volumes.SLACK, volumes.BFQ_CLASS)
            mean, longest = (11.0, 30.0) if protects else (30.0, 200.0)
            others = 50.0 if how == volumes.BFQ_CLASS else 27.0
            waits = {"mean_ms": mean, "longest_ms": longest, "others_ms": others}
            rows.append({**marks, "how": how, **waits})
    return rows


TABLES = {
    "bfq-startups": matrix,
    "bfq-causes": of_causes,
    "bfq-ablations": of_ablations,
    "bfq-sharing": of_sharing,
    "bfq-kernel": of_kernel,
    "bfq-costs": of_costs,
    "bfq-volumes": of_volumes,
}
CLAIMS = Claims(study=STUDY, tables=TABLES)


def up_after(took: float, **where: object) -> Fault:
    """A start-up is up in time."""
    return each(lambda row: row.update(up=True, startup_s=took), **where)


WRITER = {"device": setup.HITACHI, "load": setup.MIXED, "application": "lowriter", "sched": "bfq"}

FAULTS: list[tuple[str, Fault]] = [
    ("A2", scaled("startup_s", 1.5, load=setup.SEQUENTIAL, sched="bfq")),
    ("A2", scaled("startup_s", 1.5, load=setup.MIXED_RANDOM, sched="bfq")),
    ("A3", up_after(50.0, device=setup.HITACHI, load=setup.RANDOM, sched="cfq")),
    ("A4", scaled("startup_s", 0.5, **WRITER)),
    ("A5", scaled("startup_s", 0.5, **WRITER)),
    ("A5", scaled("startup_s", 1.5, **WRITER)),
    ("A7", scaled("startup_s", 1e-3, device=setup.SEAGATE, sched="kyber")),
    ("A8", scaled("startup_s", 1e-2, application="xterm", sched="kyber")),
    ("A9", scaled("startup_s", 4.0, load=setup.SEQUENTIAL, sched="bfq", application="xterm")),
    ("B6", scaled("startup_s", 0.7, device=setup.PLEXTOR, load=setup.MIXED, sched="bfq")),
    ("B7", scaled("startup_s", 0.6, device=setup.PLEXTOR, load=setup.MIXED, sched="bfq")),
    ("B7", scaled("startup_s", 1e-2, device=setup.PLEXTOR, sched="none")),
    ("C2", scaled("startup_s", 2.0, cause=causes.ROOM)),
    ("C3", scaled("startup_s", 2.0, cause=causes.OWNED)),
    ("C4", scaled("written_mb_s", 1e-3, cause="")),
    ("C5", scaled("write_longest_s", 20.0, cause=causes.expiry(62))),
    ("C6", scaled("startup_s", 0.1, cause=causes.expiry(500))),
    ("C6", scaled("device_mb_s", 0.1, cause=causes.expiry(500))),
    ("C7", scaled("startup_s", 1.5, cause=causes.NO_WRITES, load=setup.MIXED)),
    ("C8", scaled("startup_s", 1.5, application="xterm", load=setup.MIXED)),
    ("P1", scaled("startup_s", 0.05, cause=ablations.NO_FAVOURS)),
    ("B1", scaled("startup_s", 0.3, load=setup.IDLE)),
    ("B2", scaled("startup_s", 0.6, cause=ablations.SHORT_IDLING)),
    ("B3", scaled("startup_s", 0.6, cause=ablations.SHORT_IDLING)),
    ("B4", scaled("startup_s", 0.2, cause=ablations.NO_FOREIGN)),
    ("B5", scaled("startup_s", 0.1, sched="none")),
    ("D1", scaled("mb_s", 1.3, sched="cfq")),
    ("D2", scaled("mb_s", 2.0, sched="none")),
    ("D3", scaled("mb_s", 0.8, sched=sharing.PLAIN, device=setup.PLEXTOR)),
    ("W1", scaled("share", 0.8, weights="100:200")),
    ("I2", each(lambda row: row.update(late_percent=5.0), sched="bfq")),
    ("K-order", scaled("startup_s", 10.0, sched="bfq")),
    ("K-bfq-even", scaled("least_mb_s", 0.5)),
    ("K-bfq-even", scaled("most_mb_s", 2.0)),
    ("V1", scaled("startup_s", 3.0, cause=variants.AHEAD, sched="kyber")),
    ("V1", scaled("read_mb_s", 4.0, cause=variants.AHEAD, sched="mq-deadline")),
    ("V1", scaled("read_mb_s", 0.5, cause=variants.AHEAD, sched="bfq")),
    ("V2", scaled("startup_s", 3.0, cause=variants.NO_FAVOURS)),
    ("V2", scaled("startup_s", 0.3, cause=variants.NO_FAVOURS)),
    ("V2", scaled("read_mb_s", 0.8, cause=variants.NO_FAVOURS)),
    ("V3", scaled("startup_s", 2.0, cause=variants.STRICT, application="bash-recorded")),
    ("V3", scaled("read_mb_s", 2.0, cause=variants.STRICT)),
    ("V4", scaled("startup_s", 3.0, cause=variants.FIFO, sched="none")),
    ("V4", scaled("read_mb_s", 4.0, cause=variants.FIFO, sched="kyber")),
    ("V4", scaled("read_mb_s", 0.5, cause=variants.FIFO, sched="bfq")),
    ("V5", scaled("startup_s", 2.0, cause=variants.NO_QUEUE, sched="bfq")),
    ("V5", scaled("startup_s", 3.0, cause=variants.NO_QUEUE, sched="kyber")),
    ("V6", scaled("share", 0.8, who="two readers", favours="favours")),
    ("V6", scaled("share", 1.2, who="two groups of five readers", favours="no favours")),
    ("V7", scaled("startup_s", 0.05, cause=variants.NO_QUEUE, sched="none")),
    ("V7", scaled("startup_s", 0.05, cause=variants.AHEAD, sched="mq-deadline")),
    ("V8", scaled("share", 1.2, favours=variants.DEEP)),
    ("V9", scaled("read_mb_s", 0.5, cause=variants.KNOWN)),
    ("V10", scaled("startup_s", 3.0, cause=variants.ALL_WAITED)),
    ("L1", scaled("mean_ms", 2.0, how=volumes.SLACK, volume="9")),
    ("L1", scaled("longest_ms", 2.0, how=volumes.SLACK, volume="3")),
    ("L2", scaled("others_ms", 1.2, how=volumes.SLACK, volume="12")),
    ("L3", scaled("others_ms", 0.6, how=volumes.BFQ_CLASS, volume="1")),
    *(
        (name, scaled("startup_s", 2.0))
        for name in CLAIMS.statements
        if name.startswith("K-") and not name.endswith(("order", "even", "readers"))
        if "over" not in CLAIMS.statements[name][1].published
    ),
    *(
        (name, up_after(30.0, application="xterm-recorded"))
        for name in CLAIMS.statements
        if name.startswith("K-") and "over" in CLAIMS.statements[name][1].published
    ),
    *(
        (name, scaled("read_mb_s", 2.0))
        for name in CLAIMS.statements
        if name.startswith("K-") and name.endswith("readers")
    ),
]


class TestClaims(ClaimTests):
    claims = CLAIMS
    faults = FAULTS
