"""One volume of a recorded trace beside fifteen others: what it waits, and what they pay.

Not of the BFQ pages: it is the operator's question, asked of a trace. Sixteen volumes of a database
come to one disk, slowed down until that is busy. One of them is protected, each time another. It is
also replayed alone, at its own place; and all are replayed with nobody protected, under the same
scheduler, to which what the others pay is compared.
"""

from __future__ import annotations

import csv
import tempfile
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from ...runs import Run
from ...scenario import Scenario
from ..checkout import TPCC
from ..frame import Experiment
from ..statement import Found, Statement
from ..table import Cell, Row, Table, simulated
from ..verdict import Check, Kind, Mean, at_least, at_most, missing
from .options import Options

DRIVE = "modern-20tb:cache=off"
"""A disk that holds them all; it answers writes when they are on the medium."""
SPEED = 0.002
"""Five hundred times slower than traced: 103 requests a second, of which the disk is busy."""
PROTECTED = ("12", "9", "1", "3")
"""The volumes with most requests, some 470 each."""
TARGET_MS = 40
EXTENT = 1 << 21
"""Volumes begin at multiples of so many sectors, which are a GiB."""

SLACK, BFQ_CLASS = "slack, target", "bfq, real-time class"
PLAIN = {
    "none": "fcfs",
    "mq-deadline": "mq-deadline",
    "kyber": "kyber",
    "cfq": "cfq",
    "bfq": "bfq:writes=own",
    "bfq, no favours": "bfq:writes=own:low_latency=false",
    "slack, no target": "slack",
}
"""The trace does not say which writes somebody waits for, so bfq takes each as its volume's."""


def _protecting(stream: int) -> dict[str, tuple[str, str | None]]:
    return {
        **{name: (word, None) for name, word in PLAIN.items()},
        "bfq, weight 1000": (PLAIN["bfq"], f"told:weight={stream}=1000"),
        BFQ_CLASS: (PLAIN["bfq"], f"told:class={stream}=real-time"),
        SLACK: (f"slack:targets_ms={stream}={TARGET_MS}", None),
    }


NAMES = tuple(_protecting(0))
AGAINST = {"bfq, weight 1000": "bfq", BFQ_CLASS: "bfq", SLACK: "slack, no target"}
"""What each is compared to: the same scheduler, with nobody protected."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="nearslot-volumes-")


@cache
def _requests() -> list[tuple[str, str, int, str, str]]:
    """Time, volume, sector on the disk, sectors and direction; volumes one behind the other."""
    with TPCC.open() as file:
        rows = list(csv.DictReader(file))
    ends: dict[str, int] = defaultdict(int)
    for row in rows:
        ends[row["dev"]] = max(ends[row["dev"]], int(row["lba"]) + int(row["blocks"]))
    begins, at = {}, 0
    for volume in sorted(ends, key=int):
        begins[volume] = at
        at += -(-ends[volume] // EXTENT) * EXTENT
    return [
        (row["time_us"], row["dev"], begins[row["dev"]] + int(row["lba"]), row["blocks"], row["op"])
        for row in rows
    ]


@cache
def _trace(alone: str = "") -> Path:
    """A trace of all volumes, or of one alone, in which each is a client."""
    path = Path(_folder().name) / f"{alone or 'all'}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time_us", "client", "lba", "blocks", "op"])
        writer.writerows(row for row in _requests() if alone in ("", row[1]))
    return path


def _stream(volume: str) -> int:
    """Streams are numbered from 1 on, as clients first come; 0 is a request without a client."""
    return 1 + list(dict.fromkeys(row[1] for row in _requests())).index(volume)


def _waits(volume: str, run: Run) -> Row:
    """How long the volume waited, and how long all others, on average."""
    if not run.stream_responses:
        return {"mean_ms": run.response_ms.mean, "longest_ms": run.response_ms.max}
    own = [one for one in run.stream_responses if one.name == volume]
    assert all(one.stream == _stream(volume) for one in own)
    rest = [one for one in run.stream_responses if one.name != volume]

    def mean(of: list[tuple[int, float | None]]) -> float:
        return sum(count * (of_them or 0.0) for count, of_them in of) / sum(n for n, _ in of)

    return {
        "mean_ms": mean([(one.requests, one.mean_ms) for one in own]),
        "longest_ms": max(one.max_ms or 0.0 for one in own),
        "others_ms": mean([(one.requests, one.mean_ms) for one in rest]),
    }


def left_out(_: Options) -> str:
    """Without a checkout there is nothing to replay."""
    if TPCC.exists():
        return ""
    return "its trace is in a checkout of the sources alone"


def cells(options: Options) -> list[Cell]:
    """Each protected volume: alone, and beside the others under each scheduler."""
    if left_out(options):
        return []
    found = []
    for volume in PROTECTED:
        base = Scenario(drive=DRIVE, speed=SPEED, warmup=0, trace=_trace())
        numbers = partial(_waits, volume)
        alone = base.replace(trace=_trace(volume), sched="fcfs")
        found.append(simulated({"volume": volume, "how": "alone"}, alone, numbers))
        for name, (sched, claims) in _protecting(_stream(volume)).items():
            one = base.replace(sched=sched)
            if claims is not None:
                one = one.replace(claims=claims)
            found.append(simulated({"volume": volume, "how": name}, one, numbers))
    return found


def _times(table: Table, volume: str, how: str, key: str) -> Mean:
    """How many times as long the volume waits as alone."""
    return table.each(
        lambda beside, alone: beside / alone,
        (key, {"volume": volume, "how": how}),
        (key, {"volume": volume, "how": "alone"}),
    )


def _paid(table: Table, volume: str, how: str) -> Mean:
    """By which share others wait longer than with nobody protected."""
    one, other = ({"volume": volume, "how": of} for of in (how, AGAINST[how]))
    return table.lead("others_ms", one, other)


def _row(table: Table, how: str) -> str:
    """Means over the volumes, in words."""
    count = len(PROTECTED)
    mean, longest = (
        sum(_times(table, volume, how, key).value for volume in PROTECTED) / count
        for key in ("mean_ms", "longest_ms")
    )
    others = sum(table.mean("others_ms", volume=one, how=how).value for one in PROTECTED) / count
    return f"{how}: {mean:.2f}, longest {longest:.2f}; others {others:.3g} ms"


def _judged(judge: Callable[[Table], Found]) -> Callable[[Table], Found]:
    def whole(table: Table) -> Found:
        if not table.rows:
            return Found([missing("there is no trace to replay")])
        return judge(table)

    return whole


def waits(table: Table) -> Found:
    """L1."""
    checks = [
        Check(
            f"volume {volume}: {word} wait, times alone",
            _times(table, volume, SLACK, key),
            at_most(2.0),
            "",
        )
        for volume in PROTECTED
        for word, key in (("mean", "mean_ms"), ("longest", "longest_ms"))
    ]
    return Found(checks, f"times alone: {'; '.join(_row(table, how) for how in NAMES)}")


def pay(table: Table) -> Found:
    """L2."""
    checks = [
        Check(f"beside volume {volume}", _paid(table, volume, SLACK), at_most(0.1))
        for volume in PROTECTED
    ]
    return Found(checks)


def dearer(table: Table) -> Found:
    """L3."""
    checks = []
    for volume in PROTECTED:
        ratio = table.each(
            lambda one, other: one / other,
            ("others_ms", {"volume": volume, "how": BFQ_CLASS}),
            ("others_ms", {"volume": volume, "how": SLACK}),
        )
        checks.append(Check(f"beside volume {volume}", ratio, at_least(1.5), "times"))
    return Found(checks)


_RANGE = f"each of four volumes of sixteen, TPC-C, {DRIVE}, at {SPEED:g} of its speed"

STATEMENTS = [
    Statement(
        id="L1",
        kind=Kind.OWN,
        statement="With slack a protected volume waits at most twice as long as alone",
        published="ours, as of one reader that asks one by one",
        range=f"{_RANGE}; target {TARGET_MS} ms; mean and longest, at most twice",
        judge=_judged(waits),
    ),
    Statement(
        id="L2",
        kind=Kind.OWN,
        statement="The others pay at most a tenth for it",
        published="ours",
        range=f"{_RANGE}; their mean wait, against slack with nobody protected",
        judge=_judged(pay),
    ),
    Statement(
        id="L3",
        kind=Kind.OWN,
        statement="A real-time class of bfq costs them far more",
        published="ours",
        range=f"{_RANGE}; their mean wait, at least 1.5 times that with slack",
        judge=_judged(dearer),
    ),
]

EXPERIMENT = Experiment(
    name="bfq-volumes",
    question="Is one volume of a trace protected beside fifteen others, and what do they pay?",
    source="TPC-C, by MQSim (SAFARI Research Group, MIT)",
    cells=cells,
    statements=STATEMENTS,
    reads=frozenset(),
    left_out=left_out,
)
