"""How much a drive can take before an objective fails, typed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import msgspec

from . import _native, arguments
from .arguments import finite, maybe, text, texts
from .errors import InputError, Interrupted
from .frames import FrameFile, told
from .results import TraceInfo
from .running import check_reading, gridded, jobs_of, scenario_file, vary_words
from .scenario import Files, Reading, Scenario, Settings, reading_of
from .warning import Warning  # noqa: A004 (the engine's word for it)


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What a response time must stay below.

    Attributes:
        objective: Its text.
        of: The requests that it is about.
    """

    objective: str
    of: Literal["all", "read", "write"]
    statistic: Literal["mean", "p50", "p90", "p95", "p99", "p99.9"]
    limit_ms: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured for an objective; None where the run ended early or the queue grew.

    Attributes:
        fails: Whether the objective fails, by the estimate, or surely where the run ended early for
            it. None where it ended early for another, or where the queue grew: then all fail.
        high_ms: Upper end of the 95 % interval; None also if it lies beyond what was seen.
        so_far_ms: Of the requests that were answered before the run ended early; None if it did
            not, or they are too few.
    """

    fails: bool | None
    ms: float | None
    low_ms: float | None
    high_ms: float | None
    so_far_ms: float | None


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A setting that was tried.

    Attributes:
        at: The setting.
        word: What the intervals of all objectives together say.
        readings: One for each objective.
        requests: That were simulated; fewer than there are if it ended early, because an objective
            was surely missed.
        failed: Of these, requests that failed. They miss an objective on a percentile; a mean is
            of the others.
    """

    at: float
    word: Literal["surely holds", "holds", "fails", "surely fails", "not shown"]
    readings: list[Measured]
    throughput_rps: float
    throughput_mb_s: float
    utilisation: float
    utilisation_max: float
    queue_growth_rps: float | None
    requests: int
    failed: int
    ended_early: bool


@dataclass(frozen=True, kw_only=True)
class Against:
    """How a choice compares to the one that takes most.

    Attributes:
        word: ``less`` if it surely fails where the best surely holds, or if the 95 % interval of
            the difference excludes 0; ``same`` if both end at the same setting.
        at: The setting at which their batches were compared; None if that was not needed or not
            possible.
    """

    word: Literal["less", "same", "undecided"]
    at: float | None


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of the drives' time with a request."""

    seek: float
    rotation: float
    transfer: float
    overhead: float


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What limits a choice, and the numbers that show it.

    Attributes:
        by: ``drives`` if they are busy all the time or the queue grows; ``waits`` if they have time
            left, but requests that come close together wait for each other; ``service`` if single
            requests take long, whether they wait or not.
        at: The setting at which the rest was measured: the hardest that holds, or the easiest.
        queue_growth_rps: At the easiest setting that fails.
        objective: The one that fails first, as an index; None where the queue grows.
        wait_ms: Its statistic of the waits alone; the 95th percentile in place of the 90th.
        service_ms: The same of the service times alone.
        shares: None for a drive that does not tell.
    """

    by: Literal["drives", "waits", "service"]
    at: float
    utilisation: float
    utilisation_max: float
    queue_growth_rps: float | None
    objective: int | None
    wait_ms: float | None
    service_ms: float | None
    shares: Shares | None


@dataclass(frozen=True, kw_only=True)
class Reached:
    """What was found of a choice. Settings are None where nothing holds, or nothing fails.

    Attributes:
        surely_holds: The hardest setting at which the objectives hold even by the unfavourable ends
            of their intervals.
        holds: The hardest at which they hold by their estimates.
        fails: The easiest at which they fail by their estimates.
        surely_fails: The easiest at which they fail even by the favourable ends.
        easiest: The easiest setting that could have been tried; `hardest` is the hardest.
        easiest_because: Why there is none easier, if that is not the range of the setting
            itself; `hardest_because` says the same of harder ones.
        contradicted: Whether the objectives held at a setting harder than one at which they failed,
            of those that the choice's own search has tried.
        unevenly_sure: Whether a harder setting is surer to hold than an easier one, or less sure to
            fail.
        against_best: None for the best.
        limit: What keeps it from taking more; None if it holds to the end, or was not tried.
        config: Everything in effect in the first run; None if no run was finished.
        tried: From the easiest to the hardest.
    """

    choice: str
    surely_holds: float | None
    holds: float | None
    fails: float | None
    surely_fails: float | None
    easiest: float
    easiest_because: str | None
    hardest: float
    hardest_because: str | None
    contradicted: bool
    unevenly_sure: bool
    against_best: Against | None
    limit: Limit | None
    config: dict[str, Any] | None
    tried: list[Tried]


@dataclass(frozen=True, kw_only=True)
class _Decoded:
    schema: int
    version: str
    build: str
    seed: int
    trace: TraceInfo | None
    objectives: list[Objective]
    find: Literal["speed", "rate", "depth", "bsu", "drives"]
    resolution_percent: float
    headline: str
    details: list[str]
    best: int | None
    choices: list[Reached]
    complete: bool
    runs: int
    simulated_requests: int
    requests: int
    warnings: list[Warning]


# Made at import, for the reason given in results.py.
_CAPACITY = msgspec.json.Decoder(_Decoded)


class Capacity:
    """How much each choice takes before an objective fails.

    Attributes:
        headline: The answer in a sentence; `details` are what else there is to say.
        objectives: What had to hold, all of it.
        find: Along what it was looked for.
        choices: In the order of the grid.
        best: The choice that takes most; None if none holds anywhere.
        complete: Whether all boundaries were found; not after an interruption.
        runs: How many runs it took, with `simulated_requests`.
        warnings: What to know before believing the numbers.
    """

    def __init__(self, native: _native.NativeCapacity) -> None:
        """Made by `nearslot.capacity`."""
        self._native = native
        found = _CAPACITY.decode(native.json())
        self.schema = found.schema
        self.version = found.version
        self.build = found.build
        self.seed = found.seed
        self.trace = found.trace
        self.objectives = found.objectives
        self.find = found.find
        self.resolution_percent = found.resolution_percent
        self.headline = found.headline
        self.details = found.details
        self.choices = found.choices
        self.best = None if found.best is None else found.choices[found.best]
        self.complete = found.complete
        self.runs = found.runs
        self.simulated_requests = found.simulated_requests
        self.requests = found.requests
        self.warnings = found.warnings

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command as plain data."""
        plain: dict[str, Any] = msgspec.json.decode(self._native.json())
        return plain

    def to_html(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes one self-contained page with a figure for each objective.

        Args:
            path: The file.
            force: Replace a file that exists. A file that was read is never replaced.

        Raises:
            ConfigError: The file exists, or was read.
            InputError: It cannot be written.
        """
        self._native.html(arguments.path("path", path), arguments.flag("force", force))

    def __str__(self) -> str:
        """The text of the command."""
        return self._native.text()

    def __repr__(self) -> str:
        """In one line."""
        return f"<nearslot.Capacity: {self.headline}>"


def capacity(
    load: Scenario | Files | None = None,
    *,
    slo: str | Iterable[str],
    find: Literal["speed", "rate", "depth", "bsu", "drives"] | None = None,
    vary: Mapping[str, Iterable[object]] | None = None,
    resolution_percent: float = 2.0,
    jobs: int | None = None,
    reading: Reading | None = None,
    **settings: Unpack[Settings],
) -> Capacity:
    """Finds how much a drive can take before an objective fails.

    Args:
        load: A scenario, a scenario file (``*.toml``), or files of a trace.
        slo: What must hold, such as ``"read p99 < 20 ms"``; several joined by ``and``, or in a
            list.
        find: What to find: the highest speed, rate or depth, the most business units (`bsu`), or
            the fewest drives. When left out, the speed of a timed replay, the rate or `bsu` of a
            synthetic load that has one, the depth of a closed loop.
        vary: Settings that answer and the values each takes in turn, as in `compare`.
        resolution_percent: How far apart the settings are that are tried.
        jobs: Runs at a time; one per core when left out. It changes nothing but the time.
        reading: How the trace's files are read, where they leave it open.
        settings: As for `compare`: ``sched=["look", "satf"]``.

    Raises:
        ConfigError: An objective, the scenario, a key or a value is wrong.
        InputError: The trace cannot be read, does not fit the drive, or has too few requests to
            tell.
        CheckError: Requests were lost: a fault of nearslot.
        Interrupted: Ctrl-C; its ``capacity`` is what was found until then.
    """
    described = scenario_file(load)
    scenario, given, varied = gridded(load, vary, settings)
    check_reading(scenario, reading)
    files = scenario.files
    try:
        found, raised = _native.capacity(
            scenario.to_toml(),
            directory="",
            inputs=[] if described is None else [described],
            frames=[(file, file.frame) for file in files if isinstance(file, FrameFile)],
            given=given,
            vary=[(key, vary_words(key, values)) for key, values in varied.items()],
            slo=texts("slo", slo, 'words, as "read p99 < 20 ms"', of="objective"),
            find=maybe(text, "find", find),
            resolution_percent=finite("resolution_percent", resolution_percent),
            reading=reading_of(reading),
            jobs=jobs_of(jobs),
        )
    except InputError as error:
        raise told(error, files) from None
    if isinstance(raised, KeyboardInterrupt):
        kept = None if found is None else Capacity(found)
        done = "nothing was found" if kept is None else f"{kept.runs} runs were finished"
        raise Interrupted(f"interrupted: {done}", capacity=kept) from raised
    if raised is not None:
        raise raised
    assert found is not None, "a call that no signal ended has an outcome"
    return Capacity(found)
