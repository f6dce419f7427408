"""The three calls that do the work.

Each is one call into the engine, with the interpreter's lock released.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from . import _native
from .errors import Interrupted, config_error
from .inspection import Inspection
from .results import Outcome, Results
from .scenario import Files, Reading, Scenario, word

SCHEDULERS_DEFAULT = ("fcfs", "look", "mq-deadline", "satf")
"""Compared when nobody says what to compare.

No order at all, two that know block numbers, one that knows the drive.
"""


def inspect(
    *files: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 (as the command calls it)
    device: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    busiest: str | None = None,
    limit: int | None = None,
    drive: str | None = None,
    reading: Reading | None = None,
) -> Inspection:
    """Says what is in a trace, and what is odd about it.

    Args:
        files: Files of one trace; ``-`` is standard input.
        format: Its format, when it is not to be detected.
        device: Only this device of several.
        from_: Only what came at this time after the first request, or later: "90s", "1h30m".
        to: Only what came before this time.
        busiest: Only the window of this length with most requests.
        limit: Only the first so many requests (of the span).
        drive: Warn of addresses beyond this drive (a name of the catalog or a file).
        reading: How the files are read, where they leave it open.

    Raises:
        InputError: A file cannot be read, or is no trace.
        ConfigError: An unknown word.
        KeyboardInterrupt: Ctrl-C.
    """
    if limit is not None and limit < 1:
        raise config_error("limit", limit, "a whole number from 1")
    found = _native.inspect(
        [os.fspath(file) for file in files],
        reading=reading or Reading(),
        format=format,
        device=device,
        span=(from_, to, busiest),
        limit=limit,
        drive=drive,
    )
    return msgspec.json.decode(found, type=Inspection)


def run(
    load: Scenario | Files,
    *,
    requests: bool = False,
    commands: bool = False,
    series: bool = True,
    overload: Literal["stop", "run"] = "stop",
    reading: Reading | None = None,
) -> Outcome:
    """Runs one scenario.

    Args:
        load: A scenario, a scenario file (``*.toml``), or files of a trace for all defaults.
        requests: Keep a row per request (`Results.requests`).
        commands: Keep a row per command of a drive (`Results.commands`).
        series: Keep what plots need.
        overload: What is done about a long open load that offers clearly more than the drives can
            do: ``"stop"`` refuses it before it is simulated.
        reading: How the trace's files are read, where they leave it open.

    Raises:
        ConfigError: The scenario is wrong.
        InputError: The trace cannot be read, does not fit the drive, or offers more than it can do.
        CheckError: Requests were lost: a fault of nearslot.
        Interrupted: Ctrl-C; it has what was measured until then.
    """
    native = _simulate(
        load,
        {},
        baseline=None,
        overload=overload,
        reading=reading,
        jobs=None,
        series=series,
        requests=requests,
        commands=commands,
    )
    return Outcome(native)


def compare(
    load: Scenario | Files,
    *,
    vary: Mapping[str, Iterable[object]] | None = None,
    baseline: str | None = None,
    jobs: int | None = None,
    requests: bool = False,
    commands: bool = False,
    series: bool = True,
    overload: Literal["stop", "run"] = "stop",
    reading: Reading | None = None,
) -> Results:
    """Runs every combination of some settings, in parallel, and ranks what has the same load.

    Args:
        load: A scenario, a scenario file (``*.toml``), or files of a trace.
        vary: Settings and the values each takes in turn, the last varying fastest:
            ``{"sched": ["look", "satf"], "depth": [1, 8]}``; knobs as
            ``"sched.weight_ms_per_s"``. When left out, a trace is compared under
            `SCHEDULERS_DEFAULT`, and a scenario is run as it is.
        baseline: Hold the others against this choice, named by its settings or their values
            (``"fcfs"``, ``"sched=fcfs"``); the first when left out.
        jobs: Runs at a time; one per core when left out. It changes nothing but the time.
        requests: Keep a row per request of every run (`Results.requests`).
        commands: Keep a row per command of a drive, of every run (`Results.commands`).
        series: Keep what plots need.
        overload: What is done about a long open load that offers clearly more than the drives can
            do: ``"stop"`` refuses it before it is simulated.
        reading: How the trace's files are read, where they leave it open.

    Raises:
        ConfigError: The scenario, a key or a value is wrong.
        InputError: The trace cannot be read, does not fit the drive, or offers more than it can do.
        CheckError: Requests were lost: a fault of nearslot.
        Interrupted: Ctrl-C; it has the runs that were finished.
    """
    native = _simulate(
        load,
        vary_of(load, vary),
        baseline=baseline,
        overload=overload,
        reading=reading,
        jobs=jobs,
        series=series,
        requests=requests,
        commands=commands,
    )
    return Results(native)


def vary_of(
    load: Scenario | Files, vary: Mapping[str, Iterable[object]] | None
) -> Mapping[str, Iterable[object]]:
    """What was asked to be varied: schedulers when a bare trace was given and nothing asked."""
    if vary is not None:
        return vary
    bare = not isinstance(load, Scenario) and scenario_file(load) is None
    return {"sched": SCHEDULERS_DEFAULT} if bare else {}


def check_reading(scenario: Scenario, reading: Reading | None) -> None:
    """Refuses to be told how a trace is read where there is none."""
    if scenario.trace is None and reading not in (None, Reading()):
        raise config_error("reading", repr(reading), "nothing for a load without a trace")


def scenario_of(load: Scenario | Files) -> Scenario:
    """What was given as a scenario."""
    if isinstance(load, Scenario):
        return load
    path = scenario_file(load)
    return Scenario(trace=load) if path is None else Scenario.read(path)


def scenario_file(load: Files) -> str | None:
    """The path of a scenario file, if that is what was given."""
    if isinstance(load, str | os.PathLike) and os.fspath(load).endswith(".toml"):
        return os.fspath(load)
    return None


def _simulate(
    load: Scenario | Files,
    vary: Mapping[str, Iterable[object]],
    *,
    baseline: str | None,
    overload: str,
    reading: Reading | None,
    jobs: int | None,
    series: bool,
    requests: bool,
    commands: bool,
) -> _native.Outcome:
    described = None if isinstance(load, Scenario) else scenario_file(load)
    scenario = scenario_of(load)
    check_reading(scenario, reading)
    outcome, raised = _native.simulate(
        scenario.to_toml(),
        directory="",
        inputs=[] if described is None else [described],
        vary=[(key, vary_words(key, values)) for key, values in vary.items()],
        baseline=baseline,
        overload=overload,
        piece=False,
        reading=reading or Reading(),
        jobs=jobs,
        series=series,
        requests=requests,
        commands=commands,
    )
    if isinstance(raised, KeyboardInterrupt):
        results = None if outcome is None else Results(outcome)
        if results is None:
            done = "no runs were handed over"
        elif any(run.pending for run in results.runs):
            done = f"{results.runs[0].requests} requests were measured"
        else:
            done = f"{len(results)} runs were finished"
        raise Interrupted(f"interrupted: {done}", results) from raised
    if raised is not None:
        raise raised
    assert outcome is not None, "a call that no signal ended has an outcome"
    return outcome


def vary_words(key: str, values: Iterable[object]) -> list[str]:
    """Values of a setting as the engine spells them."""
    if isinstance(values, str):
        raise config_error(f"vary {key}", repr(values), "a list of values")
    words = [word(f"vary {key}", value) for value in values]
    if not words:
        raise config_error(f"vary {key}", "[]", "at least one value")
    return words
