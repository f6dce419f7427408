"""Rules that every single decision must obey (A1 to A13), checked on the commands of the drives.

If a rule compares a decision with an alternative, the alternative is run, too: the same drive in
the same state is given the read alone, the write alone and both, or the reads with and without
writes. Where only a power cut or the inside of the program can tell, the core's own test is named.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import ConfigError
from ...running import run
from ...scenario import Scenario, part
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Kind, exactly, missing, within
from .options import Options

OVERHEAD_MS = 0.3
DILUTION = 2.0
CHUNK_BLOCKS = 8
SPREAD = 0.9
"""Share of the volume in which requests lie."""
WRITES = 50_000
"""Of a run that has to sweep the drive several times."""
EVENTS = 4_000
"""Requests of a run whose requests are checked one by one."""
STATES = 40
"""In which reads and a write compete."""
RIVALS = 200
"""Reads that do."""
READS = 150
"""Of a burst; so many writes a read wait with them that they last longer."""
WRITES_PER_READ = 12
REWRITES = 3
BUFFER = 16
"""Chunks of a buffer that is too small for a burst."""
EDGE_SLOTS = 30
"""Where so many are free on average, the last free slots before the edge lie."""
IDLE_NS = 30_000_000_000
APART_NS = 1_000_000_000
"""Between requests that are to find all drives idle."""
THRESHOLD = 10_000
"""Delayed copies from which on they go among others, as published."""

Knob = bool | int | float | str


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    Attributes:
        cases: Decisions that were looked at.
        broken: Of these, those against the rule.
        told: What was looked at.
    """

    cases: int
    broken: int
    told: str


@dataclass(frozen=True)
class Run:
    """The commands and the requests of a run."""

    commands: list[Row]
    requests: list[Row]

    @classmethod
    def of(cls, scenario: Scenario) -> Run:
        """Runs it."""
        import pyarrow

        found = run(scenario, series=False, requests=True, commands=True)
        rows = [pyarrow.table(rows).to_pylist() for rows in (found.commands, found.requests)]
        for one in rows[0]:
            cost = one["overhead_ns"] + one["seek_ns"] + one["rotation_ns"]
            one["begin_ns"] = one["start_ns"] + cost
            one["end_ns"] = one["begin_ns"] + one["transfer_ns"]
        return cls(sorted(rows[0], key=lambda one: one["start_ns"]), rows[1])

    def arrivals(self) -> dict[int, int]:
        """The arrival of each request."""
        return {one["id"]: one["arrival_ns"] for one in self.requests}

    def delayed(self) -> list[Row]:
        """Writes of the volume's data that no request waits for."""
        own = (one for one in self.commands if one["request"] is None)
        return [one for one in own if one["op"] == "write" and one["lba"] is not None]

    def foreground(self, op: str) -> list[Row]:
        """Commands of requests."""
        return [one for one in self.commands if one["op"] == op and one["request"] is not None]


class Busy:
    """The commands of each drive."""

    def __init__(self, commands: Iterable[Row]) -> None:
        """Takes commands in the order of their starts."""
        self._starts: dict[int, list[int]] = defaultdict(list)
        self._ends: dict[int, list[int]] = defaultdict(list)
        for one in commands:
            self._starts[one["drive"]].append(one["start_ns"])
            self._ends[one["drive"]].append(one["end_ns"])

    def at(self, drive: int, instant: int) -> bool:
        """Whether something that began before was still going on."""
        starts = self._starts[drive]
        index = bisect_right(starts, instant - 1) - 1
        return index >= 0 and self._ends[drive][index] > instant


def _drive(options: Options) -> str:
    overhead = OVERHEAD_MS if options.overhead_ms is None else options.overhead_ms
    return f"{options.drive}:model=mechanical:overhead_ms={overhead}"


def _scenario(options: Options, place: str, sched: str = "satf_ew", **load: Any) -> Scenario:  # noqa: ANN401
    return Scenario(
        drive=_drive(options), place=place, sched=sched, seed=options.seed, warmup=0, **load
    )


def _eager(options: Options, **knobs: Knob) -> str:
    return part("eager", **{"dilution": options.dilution or DILUTION, **knobs})


def _pairs(**knobs: Knob) -> str:
    """Two copies on two drives each."""
    return part("ew_array", **{"dm": 2, "ds": 1, "dd": 2, **knobs})


Ask = tuple[int, int, str]
"""When, which chunk, R or W."""


def _replayed(options: Options, place: str, sched: str, asks: Iterable[Ask]) -> Run:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "asked.csv"
        lines = [f"{at},0,{chunk * CHUNK_BLOCKS},{CHUNK_BLOCKS},{op}" for at, chunk, op in asks]
        path.write_text("\n".join(["time_ns,dev,lba,blocks,op", *lines, ""]))
        load = {"trace": str(path), "replay": "open"}
        return Run.of(_scenario(options, place, sched, **load))


def _random_chunks(options: Options, count: int) -> list[int]:
    """Different chunks, spread over most of the drive."""
    rng = random.Random(options.seed)
    volume = _replayed(options, _eager(options), "satf_ew", [(0, 0, "R")]).commands[0]
    # Slots that are not free belong to the volume.
    chunks = volume["free_slots"] / ((options.dilution or DILUTION) - 1)
    return rng.sample(range(int(chunks * SPREAD)), count)


def nearer_first(options: Options) -> Checked:
    """A1: what SATF-EW does with reads and a write at once, and what either would come to alone."""
    chunks = iter(_random_chunks(options, STATES * (RIVALS + 2)))
    # Few free slots, or the write is nearer than any read.
    place = _eager(options, dilution=1.003)
    firsts = Counter[str]()
    broken = 0
    for _ in range(STATES):
        before, write, *reads = islice(chunks, RIVALS + 2)
        asked = {"R": [(1_000, read, "R") for read in reads], "W": [(1_000, write, "W")]}
        begins = {}
        for ops in ("R", "W", "RW"):
            asks = [(0, before, "R"), *(ask for op in ops for ask in asked[op])]
            begins[ops] = _replayed(options, place, "satf_ew", asks).commands[1]
        first = "R" if begins["RW"]["op"] == "read" else "W"
        other = "W" if first == "R" else "R"
        firsts[first] += 1
        # Of two that begin at the same instant, the read goes first.
        later = begins[first]["begin_ns"] > begins[other]["begin_ns"]
        equal = first == "W" and begins["R"]["begin_ns"] == begins["W"]["begin_ns"]
        same = begins["RW"]["begin_ns"] == begins[first]["begin_ns"]
        broken += later or equal or not same
    told = f"{RIVALS} reads and a write at once in {STATES} states, either also alone in the same "
    told += f"state: a read went first {firsts['R']} times, the write {firsts['W']} times"
    return Checked(min(firsts["R"], firsts["W"]), broken, told)


def one_direction(options: Options) -> Checked:
    """A2: a drive that is only written, nearly full, so that the sweep passes over it quickly."""
    load = part("iometer", requests=WRITES, depth=1, read_share=0)
    place = _eager(options, dilution=1.01)
    commands = Run.of(_scenario(options, place, workload=load)).commands
    visits = [one["cylinder"] for one in commands]
    lowest, highest = min(visits), max(visits)
    cylinders, free = highest - lowest + 1, commands[0]["free_slots"]
    edge = EDGE_SLOTS * cylinders / free
    turns, broken, upward = 0, 0, None
    for one, other in pairwise(visits):
        if one == other:
            continue
        if upward is not None and upward != (other > one):
            turns += 1
            broken += (highest - one if upward else one - lowest) > edge
        upward = other > one
    visited = len(set(visits)) / cylinders
    told = f"{WRITES:,} writes to a drive with 1 % free slots: the arm turned {turns} times, "
    told += f"{turns - broken} times in the outermost {edge:.0f} of {cylinders} cylinders, where "
    told += f"about {EDGE_SLOTS} of {free:,} slots are free; "
    told += f"it wrote to {visited:.1%} of all cylinders"
    # Of a cylinder the last free slot may just be taken.
    return Checked(turns, broken + (visited < 0.95), told)


def _burst(chunks: list[int], *, writes: bool) -> Iterator[Ask]:
    """One read that keeps the drive busy while all others come at once."""
    yield 0, chunks[0], "R"
    for chunk in chunks[1 : READS + 1]:
        yield 1_000, chunk, "R"
    for chunk in chunks[READS + 1 :] if writes else []:
        yield 1_000, chunk, "W"


def _reads_of(
    options: Options, chunks: list[int], sched: str, *, writes: bool
) -> tuple[list[tuple[int, int]], int]:
    """Block and begin of each read of a burst as they were served, and writes before the last."""
    done = _replayed(options, _eager(options), sched, _burst(chunks, writes=writes))
    reads = [(one["lba"], one["begin_ns"]) for one in done.foreground("read")]
    last = reads[-1][1]
    return reads, sum(one["start_ns"] < last for one in done.foreground("write"))


def no_delay(options: Options) -> Checked:
    """A3: reads of a burst begin at the same nanosecond with writes among them and without."""
    chunks = _random_chunks(options, 1 + READS * (1 + WRITES_PER_READ))
    cases, broken, told = 0, 0, []
    # While writes wait, Hybrid orders its reads as SCAN does.
    for sched, alone in (
        ("freebw_satf", "freebw_satf"),
        ("freebw_scan", "freebw_scan"),
        ("freebw_hybrid", "freebw_scan"),
    ):
        planned, _ = _reads_of(options, chunks, alone, writes=False)
        found, inserted = _reads_of(options, chunks, sched, writes=True)
        cases += inserted
        broken += sum(one != other for one, other in zip(planned, found, strict=True))
        told.append(f"{inserted} writes under {sched}")
    told_all = f"{READS} reads at once, with writes among them ({', '.join(told)}) and without: "
    told_all += "every read began at the same nanosecond" if not broken else f"{broken} did not"
    return Checked(cases, broken, told_all)


def two_orders(options: Options) -> Checked:
    """A4: Hybrid against SATF where nothing is written, and against SCAN where writes wait."""
    chunks = _random_chunks(options, 1 + READS * (1 + WRITES_PER_READ))
    reads, _ = _reads_of(options, chunks, "freebw_hybrid", writes=False)
    satf, _ = _reads_of(options, chunks, "satf", writes=False)
    busy, inserted = _reads_of(options, chunks, "freebw_hybrid", writes=True)
    scan, _ = _reads_of(options, chunks, "freebw_scan", writes=False)
    broken = sum(one != other for one, other in zip(reads, satf, strict=True))
    broken += sum(one != other for one, other in zip(busy, scan, strict=True))
    differ = sum(one != other for one, other in zip(satf, scan, strict=True))
    left = READS * WRITES_PER_READ - inserted
    told = f"{READS} reads at once: alone they went as under SATF, with {inserted} writes before "
    told += f"the last of them and {left} still waiting as under SCAN, which orders {differ} of "
    told += "them otherwise" if not broken else f"them otherwise, but for {broken}"
    return Checked(min(differ, left), broken, told)


def _owners(done: Run) -> dict[int, set[int]]:
    """By column of the array, the drives that share its blocks."""
    columns = (max(one["drive"] for one in done.commands) + 1) // 2
    return {column: {column, column + columns} for column in range(columns)}


def one_service(options: Options) -> Checked:
    """A5: reads of an array with two copies."""
    load = part("poisson", requests=EVENTS, read_share=1, rate_rps=200)
    done = Run.of(_scenario(options, _pairs(), workload=load))
    served = Counter(one["request"] for one in done.foreground("read"))
    busy, owners, arrivals = Busy(done.commands), _owners(done), done.arrivals()
    broken = sum(count != 1 for count in served.values()) + EVENTS - len(served)
    at_once = waited = 0
    for one in done.foreground("read"):
        came, drives = arrivals[one["request"]], owners[one["drive"] % len(owners)]
        if any(not busy.at(drive, came) for drive in drives):
            at_once += 1
            broken += one["start_ns"] != came
        else:
            waited += 1
    told = (
        f"{len(served):,} reads, each served once; {at_once} found an idle owner and began there "
    )
    told += f"at once, {waited} waited for whichever was free first"
    return Checked(min(at_once, waited), broken, told)


def shortest_queue(options: Options) -> Checked:
    """A6: writes to an array with two copies, in bursts that make queues."""
    rng = random.Random(options.seed)
    chunks = iter(_random_chunks(options, EVENTS))
    asks = sorted(
        (rng.randrange(EVENTS // 40) * 40_000_000 + rng.randrange(4_000_000), chunk, "W")
        for chunk in chunks
    )
    done = _replayed(options, _pairs(), "satf_ew", asks)
    arrivals, owners = done.arrivals(), _owners(done)
    busy, writes = Busy(done.commands), done.foreground("write")
    by_drive: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one in writes:
        by_drive[one["drive"]].append((arrivals[one["request"]], one["end_ns"]))
    behind = Busy(done.delayed())

    def queue(drive: int, came: int) -> int:
        waiting = sum(arrived < came < end for arrived, end in by_drive[drive])
        return waiting + behind.at(drive, came)

    cases = Counter[str]()
    broken = 0
    for one in writes:
        came, drives = arrivals[one["request"]], owners[one["drive"] % len(owners)]
        if any(not busy.at(drive, came) for drive in drives):
            cases["idle"] += 1
            broken += one["start_ns"] != came
        else:
            cases["queued"] += 1
            broken += queue(one["drive"], came) > min(queue(drive, came) for drive in drives)
    told = f"{len(writes):,} writes: {cases['idle']} found an idle owner and began there at once, "
    told += f"{cases['queued']} joined the shorter queue of the two"
    return Checked(min(cases["idle"], cases["queued"]), broken, told)


def only_when_idle(options: Options) -> Checked:
    """A7: delayed writes and what waited for the drive when they began."""
    load = part("poisson", requests=EVENTS, read_share=0.5, rate_rps=400)
    place = _pairs(buffer_chunks=10 * EVENTS)
    delayed = Run.of(_scenario(options, place, workload=load)).delayed()
    broken = sum(one["waiting"] > 0 for one in delayed)
    told = f"{len(delayed):,} delayed writes at 400 requests/s on four drives; when one began, "
    told += f"something waited for its drive {broken} times"
    return Checked(len(delayed), broken, told)


def copies(options: Options) -> Checked:
    """A8: foreground and delayed copies of each write, of three, until all is done."""
    chunks = _random_chunks(options, EVENTS // 4)
    cases, broken = 0, 0
    for foreground in (1, 2):
        place = _pairs(dm=3, foreground=foreground)
        asks = [(number * 1_000_000, chunk, "W") for number, chunk in enumerate(chunks)]
        done = _replayed(options, place, "satf_ew", [*asks, (IDLE_NS, chunks[0], "R")])
        drives: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for one in done.foreground("write"):
            drives[one["lba"]][0].append(one["drive"])
        for one in done.delayed():
            drives[one["lba"]][1].append(one["drive"])
        cases += len(drives)
        for waited, delayed in drives.values():
            counts = (len(waited), len(delayed), len({*waited, *delayed}))
            broken += counts != (foreground, 3 - foreground, 3)
        broken += len(drives) != len(chunks)
        broken += sum(not one["open"] for one in [*done.foreground("write"), *done.delayed()])
    told = f"{cases:,} writes of three copies: one or two before the answer as asked, the others "
    told += "later, each on another drive and all to free slots"
    return Checked(cases, broken, told)


def _least(refused: Scenario) -> int:
    """The least value that the refusal of a scenario names."""
    try:
        run(refused, series=False)
    except ConfigError as error:
        named = re.search(r"at least (\d+)", str(error))
        if named is not None:
            return int(named[1])
        raise
    raise AssertionError("the scenario is refused")


def bounded_log(options: Options) -> Checked:
    """A10: where the log of a map is written, in the smallest region that is allowed."""
    knobs: dict[str, Knob] = {"map": "log", "nvram_entries": 64}
    load = part("iometer", requests=WRITES, depth=1, read_share=0)

    def with_region(kib: int) -> Scenario:
        return _scenario(
            options, _eager(options, dilution=8, **knobs, log_region_kib=kib), workload=load
        )

    kib = _least(with_region(1))
    log = [one for one in Run.of(with_region(kib)).commands if one["lba"] is None]
    first = min(one["pba"] for one in log)
    used = (max(one["pba"] + one["blocks"] for one in log) - first) / 2
    written = sum(one["blocks"] for one in log) / 2
    told = f"{written:,.0f} KiB of log in {len(log):,} writes went into {used:,.0f} KiB; "
    told += f"the bound is {kib:,} KiB"
    return Checked(int(written / kib > 2) * len(log), int(used > kib), told)


def dropped(options: Options) -> Checked:
    """A12: chunks that are overwritten before their delayed copies, and a buffer that is full."""
    chunks = _random_chunks(options, 200)
    asks = [(0, chunk, "W") for _ in range(REWRITES) for chunk in chunks]
    asks = [*asks, (IDLE_NS, chunks[0], "R")]
    done = _replayed(options, _pairs(), "satf_ew", asks)
    times: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for own, rows in ((False, done.foreground("write")), (True, done.delayed())):
        for one in rows:
            times[one["lba"]].append((one["start_ns"], own))
    # Behind each foreground write at most one delayed one, and behind the last exactly one.
    broken = 0
    for events in times.values():
        order = [own for _, own in sorted(events)]
        broken += not order[-1] or any(one and other for one, other in pairwise(order))
    spared = REWRITES * len(chunks) - len(done.delayed())
    small = _replayed(options, _pairs(buffer_chunks=BUFFER), "satf_ew", asks)
    forced = sum(one["waiting"] > 0 for one in small.delayed())
    unforced = sum(one["waiting"] > 0 for one in done.delayed())
    told = f"{REWRITES} writes to each of {len(chunks)} chunks at once: {spared} of "
    told += f"{REWRITES * len(chunks)} delayed copies were dropped, every chunk has the one of "
    told += f"its last write; with a buffer of {BUFFER} chunks {forced} delayed writes went "
    told += f"among others, with one of 10,000 {unforced}"
    return Checked(min(spared, forced), broken + unforced, told)


def reclaimed(options: Options) -> Checked:
    """A13: free slots while a drive is overwritten."""
    load = part("iometer", requests=WRITES, depth=16, read_share=0)
    done = Run.of(_scenario(options, _eager(options), workload=load)).commands
    counts = {one["free_slots"] for one in done}
    told = f"{len(done):,} overwrites; when each began {min(counts):,} slots were free"
    if len(counts) > 1:
        told += f", or up to {max(counts):,}"
    return Checked(len(done), len(counts) - 1, told)


def threshold(options: Options) -> Checked:
    """A12: bursts that leave somewhat more and somewhat fewer delayed copies than the threshold."""
    few, many = THRESHOLD - THRESHOLD // 20, THRESHOLD + THRESHOLD // 20
    chunks = _random_chunks(options, many)
    forced = {}
    for count in (few, many):
        # A nanosecond apart: a trace whose requests all have one time is refused, as one without.
        asks = [(number, chunk, "W") for number, chunk in enumerate(chunks[:count])]
        done = _replayed(options, _pairs(), "satf_ew", asks)
        forced[count] = sum(one["waiting"] > 0 for one in done.delayed())
    told = f"bursts of {few:,} and {many:,} writes with the default buffer: {forced[few]} and "
    told += f"{forced[many]} delayed writes went among others; the threshold is {THRESHOLD:,}"
    return Checked(many - few, forced[few] + (forced[many] == 0), told)


def _nearer_owner(options: Options, op: str) -> Checked:
    """Two requests at once that either of two idle drives can serve: the first has the choice."""
    chunks = _random_chunks(options, STATES * 16)
    asks = [(number * APART_NS, chunk, "R") for number, chunk in enumerate(chunks)]
    # Which drives have a chunk is seen by reading it.
    drives = {
        one["lba"] // CHUNK_BLOCKS: one["drive"] % 2
        for one in _replayed(options, _pairs(), "satf_ew", asks).foreground("read")
    }
    of_first = iter([chunk for chunk in chunks if drives[chunk] == 0])
    broken, chosen = 0, Counter[int]()
    for _ in range(STATES):
        heads, (one, other) = list(islice(of_first, 2)), islice(of_first, 2)
        both = [one, one] if op == "R" else [one, other]
        asks = [(number, chunk, "R") for number, chunk in enumerate(heads)]
        asks += [(APART_NS, chunk, op) for chunk in both]
        done = _replayed(options, _pairs(), "satf_ew", asks)
        wanted = done.foreground("read" if op == "R" else "write")
        first, second = sorted(wanted[-2:], key=lambda one: one["request"])
        chosen[first["drive"]] += 1
        at_once = first["start_ns"] == second["start_ns"] == APART_NS
        apart = first["drive"] != second["drive"]
        broken += not (at_once and apart and first["begin_ns"] <= second["begin_ns"])
    what = "reads of a block" if op == "R" else "writes"
    told = f"two {what} at once in {STATES} states, both owners idle: the first had the owner that "
    told += f"was nearer, the one drive {min(chosen.values())} times, the other "
    told += f"{max(chosen.values())} times"
    return Checked(min(chosen.values()) if len(chosen) == 2 else 0, broken, told)


def nearer_owner_of_reads(options: Options) -> Checked:
    """A5: which of two idle owners a read goes to."""
    return _nearer_owner(options, "R")


def nearer_owner_of_writes(options: Options) -> Checked:
    """A6: which of two idle owners a write goes to."""
    return _nearer_owner(options, "W")


def safe_first(options: Options) -> Checked:
    """A13: no slot is written anew before a map sector tells where its block is now."""
    load = part("iometer", requests=EVENTS * 4, depth=4, read_share=0)
    place = _eager(options, dilution=1.001, map="virtual_log")
    commands = Run.of(_scenario(options, place, workload=load)).commands
    maps = sorted(
        (one["start_ns"], one["end_ns"])
        for one in commands
        if one["op"] == "write" and one["lba"] is None
    )
    safe = [0] * len(maps)
    # The earliest end of a map sector that began no sooner than this one.
    for index in range(len(maps) - 1, -1, -1):
        after = safe[index + 1] if index + 1 < len(maps) else maps[index][1]
        safe[index] = min(maps[index][1], after)
    begins = [begin for begin, _ in maps]
    holds: dict[int, int] = {}
    landed: dict[int, int] = {}
    cases, broken = 0, 0
    for one in commands:
        if one["op"] != "write" or one["lba"] is None:
            continue
        before = holds.get(one["pba"])
        if before is not None:
            cases += 1
            # The slot is free once its block is elsewhere and a map sector says so.
            index = bisect_left(begins, landed[before])
            broken += index == len(maps) or safe[index] > one["start_ns"]
        holds[one["pba"]] = one["lba"]
        landed[one["lba"]] = one["end_ns"]
    told = f"{cases:,} slots that were written anew by {EVENTS * 4:,} overwrites of a full drive "
    told += "whose map is written as a virtual log, each after its old block was mapped elsewhere"
    return Checked(cases, broken, told)


@dataclass(frozen=True)
class Rule:
    """A rule, how its parts are checked, and what only the core's tests can tell of it."""

    statement: str
    checks: tuple[Callable[[Options], Checked], ...]
    rest: str = ""
    kind: Kind = Kind.ORDER
    published: str = "an algorithm, not a number"


RULES = {
    "A1": Rule("SATF-EW serves the nearer of nearest read and nearest free block", (nearer_first,)),
    "A2": Rule("A sweep keeps one direction until the edge, then reverses", (one_direction,)),
    "A3": Rule("An inserted write never delays the read it precedes", (no_delay,)),
    "A4": Rule(
        "FreeBW-Hybrid orders reads by SATF exactly when no write is queued, else by SCAN",
        (two_orders,),
    ),
    "A5": Rule(
        "A read goes to the idle owner nearest to its copy, else to all; it is served once",
        (one_service, nearer_owner_of_reads),
    ),
    "A6": Rule(
        "A write goes to the idle owner nearest a free block, else to the shortest queue",
        (shortest_queue, nearer_owner_of_writes),
    ),
    "A7": Rule(
        "Delayed writes run only when the drive's foreground queue is empty", (only_when_idle,)
    ),
    "A8": Rule("One or two foreground copies, the others delayed, all eager", (copies,)),
    "A9": Rule(
        "The map takes 4 bytes per copy and 4-KB block",
        (),
        "no run shows memory: the core's test `memory` measures it",
        Kind.NUMBER,
        "Dm x C / 1000",
    ),
    "A10": Rule("The map log is bounded", (bounded_log,)),
    "A11": Rule(
        "Recovery gives the exact map",
        (),
        "no run is cut off by the power: the core's tests `crash` and `maplog` do that",
    ),
    "A12": Rule(
        "Propagation of an overwritten block is dropped; a threshold of 10,000 entries moves "
        "delayed writes forward; their table survives a power cut",
        (dropped, threshold),
        "no run is cut off by the power: the core's test `crash` does that",
        Kind.NUMBER,
        "10,000 entries",
    ),
    "A13": Rule(
        "Space of an overwritten block is reclaimed on overwrite, not before the map is safe",
        (reclaimed, safe_first),
    ),
}


def cells(options: Options) -> list[Cell]:
    """A point for each rule. The checks have no randomness, so one seed is enough."""

    def point(name: str, rule: Rule) -> Cell:
        def run(seeds: Sequence[int]) -> list[Row]:
            chosen = replace(options, seed=seeds[0])
            return [
                {"seed": seeds[0], "part": number, **vars(check(chosen))}
                for number, check in enumerate(rule.checks)
            ]

        return Cell({"rule": name}, run)

    return [point(name, rule) for name, rule in RULES.items() if rule.checks]


def judge(name: str, table: Table) -> Found:
    """What was found of a rule."""
    rule, parts, told = RULES[name], [], []
    for number in range(len(rule.checks)):
        rows = table.only(rule=name, part=number).rows
        broken = sum(row["broken"] for row in rows)
        if broken == 0 and not any(row["cases"] for row in rows):
            parts.append(missing(f"the runs had no case to tell by: {rows[0]['told']}"))
        else:
            parts.append(exactly("decisions against the rule", broken, within(0, 0)))
            told.append(rows[0]["told"])
    if rule.rest:
        parts.append(missing(rule.rest))
    return Found(parts, "; ".join(told))


STATEMENTS = [
    Statement(
        id=name,
        kind=rule.kind,
        statement=rule.statement,
        published=rule.published,
        range="the commands that drives were given" if rule.checks else "nothing",
        judge=partial(judge, name),
        turns=False,
    )
    for name, rule in RULES.items()
]
