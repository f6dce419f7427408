"""Each claim of the study is decided on numbers that are as published, and each fault is seen.

No engine runs. Numbers are those of the pages where they have some, and else follow their words. A
fault changes some of them, as a fault of a scheduler, of the page cache or of a drive would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nearslot.experiments import ClaimVerdict, Kind
from nearslot.experiments.bfq import STUDY, ablations, causes, kernel, setup, sharing
from nearslot.experiments.statement import Found, Statement
from nearslot.experiments.table import Row, Table

SEEDS = (1, 2, 3)
LIMIT_S = 60.0
STATEMENTS = {one.id: (of.name, one) for of in STUDY.experiments for one in of.statements}

Fault = Callable[[Row], None]

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
        rows.append(start(point, 5 + ms / 100, device_mb_s=40 + ms / 50))
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
    """The measurement itself."""
    rows = []
    for row in kernel.ROWS:
        for application, took in zip(kernel.APPLICATIONS, (row.bash, row.xterm), strict=True):
            marks = setup.at("kernel", row.load, application, row.sched)
            rows.append(start(marks, took))
        for size in kernel.SIZES if row.readers_mb_s else ():
            marks = {"what": "readers", "load": row.load, "sched": row.sched, "size": size}
            rows.append(start(marks, None, read_mb_s=row.readers_mb_s or 0.0))
    return rows


TABLES = {
    "bfq-startups": matrix,
    "bfq-causes": of_causes,
    "bfq-ablations": of_ablations,
    "bfq-sharing": of_sharing,
    "bfq-kernel": of_kernel,
}


def judged(name: str, fault: Fault | None = None) -> Found:
    """What a statement says of the published numbers, with a fault."""
    home, statement = STATEMENTS[name]
    rows = TABLES[home]()
    for row in rows:
        if fault is not None:
            fault(row)
    seeded = [{**row, "seed": seed} for row in rows for seed in SEEDS]
    return statement.judge(Table(seeded))


def scaled(key: str, by: float, **where: object) -> Fault:
    """A number is so many times as large at some points."""

    def fault(row: Row) -> None:
        if key in row and all(row.get(mark) == value for mark, value in where.items()):
            row[key] *= by

    return fault


def up_after(took: float, **where: object) -> Fault:
    """A start-up is up in time."""

    def fault(row: Row) -> None:
        if all(row.get(mark) == value for mark, value in where.items()):
            row.update(up=True, startup_s=took)

    return fault


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
    ("I2", lambda row: row.update(late_percent=5.0) if row.get("sched") == "bfq" else None),
    ("K-order", scaled("startup_s", 10.0, sched="bfq")),
    *(
        (name, scaled("startup_s", 2.0))
        for name in STATEMENTS
        if name.startswith("K-") and name != "K-order" and not name.endswith("readers")
        if "over" not in STATEMENTS[name][1].published
    ),
    *(
        (name, up_after(30.0, application="xterm-recorded"))
        for name in STATEMENTS
        if name.startswith("K-") and "over" in STATEMENTS[name][1].published
    ),
    *(
        (name, scaled("read_mb_s", 2.0))
        for name in STATEMENTS
        if name.startswith("K-") and name.endswith("readers")
    ),
]

DECIDED = [name for name, (_, one) in STATEMENTS.items() if one.kind is not Kind.INFORMATION]


@pytest.mark.parametrize("name", DECIDED)
def test_a_claim_holds_on_published_numbers(name: str) -> None:
    found = judged(name)
    assert found.verdict is ClaimVerdict.HOLDS, [check.told() for check in found.checks]


@pytest.mark.parametrize(
    ("name", "fault"), FAULTS, ids=[f"{name}-{index}" for index, (name, _) in enumerate(FAULTS)]
)
def test_a_fault_turns_a_claim(name: str, fault: Fault) -> None:
    assert judged(name, fault).verdict is ClaimVerdict.FAILS


def test_every_claim_has_a_fault() -> None:
    assert set(DECIDED) - {name for name, _ in FAULTS} == set()


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - set(DECIDED)))
def test_what_is_for_information_is_told(name: str) -> None:
    assert judged(name).told


def test_a_statement_names_its_home_once() -> None:
    names = [one.id for of in STUDY.experiments for one in of.statements]
    assert len(names) == len(set(names))
    assert all(isinstance(one, Statement) for _, one in STATEMENTS.values())
