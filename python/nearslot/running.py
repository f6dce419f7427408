"""The three calls that do the work.

Each is one call into the engine, with the interpreter's lock released.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Unpack

import msgspec

from . import _native, arguments
from .arguments import flag, maybe, path, text, whole
from .errors import ConfigError, InputError, Interrupted, config_error
from .frames import FrameFile, told
from .inspection import Inspection
from .opening import Opening
from .results import Outcome, Results
from .scenario import Files, Reading, Scenario, Settings, reading_of, word

SCHEDULERS_DEFAULT = ("fcfs", "look", "mq-deadline", "satf")
"""Compared when nobody says what to compare.

No order at all, two that know block numbers, one that knows the drive.
"""


# Made at import, for the reason given in results.py.
_INSPECTION = msgspec.json.Decoder(Inspection)


def inspect(
    trace: Files,
    *,
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
        trace: A file, several that are one trace, or data frames; ``-`` is standard input.
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
    opening = Opening.of(
        trace,
        format=format,
        device=device,
        span=(from_, to, busiest),
        limit=limit,
        reading=reading,
    )
    with opening.naming_frames():
        found = _native.inspect(opening, drive=maybe(path, "drive", drive))
    inspection = _INSPECTION.decode(found)
    return dataclasses.replace(inspection, files=opening.named(inspection.files))


def run(
    load: Scenario | Files | None = None,
    *,
    requests: bool = False,
    commands: bool = False,
    series: bool = True,
    overload: Literal["stop", "run"] = "stop",
    reading: Reading | None = None,
    **settings: Unpack[Settings],
) -> Outcome:
    """Runs one scenario.

    Args:
        load: A scenario, a scenario file (``*.toml``), files of a trace, or data frames. It is left
            out where the keyword ``workload`` names a synthetic load.
        requests: Keep a row per request (`Results.requests`).
        commands: Keep a row per command of a drive (`Results.commands`).
        series: Keep what plots need.
        overload: What is done about a long open load that offers clearly more than the drives can
            do: ``"stop"`` refuses it before it is simulated.
        reading: How the trace's files are read, where they leave it open.
        settings: Settings of `Scenario`, on top of the load: ``sched="satf", replay="closed"``.

    Raises:
        ConfigError: The scenario is wrong.
        InputError: The trace cannot be read, does not fit the drive, or offers more than it can do.
        CheckError: Requests were lost: a fault of nearslot.
        Interrupted: Ctrl-C; it has what was measured until then.
    """
    scenario, given, grid = gridded(load, {}, settings)
    for key, values in grid.items():
        allowed = "one value; nearslot.compare takes several"
        raise config_error(key, list(values), allowed)
    native = _simulate(
        scenario,
        given,
        {},
        described=scenario_file(load),
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
    load: Scenario | Files | None = None,
    *,
    vary: Mapping[str, Iterable[object]] | None = None,
    baseline: str | None = None,
    jobs: int | None = None,
    requests: bool = False,
    commands: bool = False,
    series: bool = True,
    overload: Literal["stop", "run"] = "stop",
    reading: Reading | None = None,
    **settings: Unpack[Settings],
) -> Results:
    """Runs every combination of some settings, in parallel, and ranks what has the same load.

    ``compare("mytrace.csv", replay="closed", sched=["look", "satf"], depth=[1, 8])`` makes four
    runs: keywords with several values make the grid, the last varying fastest; keywords with one
    value hold for all runs. If nothing takes several values and no scheduler is named, a trace is
    compared under `SCHEDULERS_DEFAULT`; a scenario is run as it is.

    Args:
        load: A scenario, a scenario file (``*.toml``), files of a trace, or data frames. It is left
            out where the keyword ``workload`` names a synthetic load.
        vary: What has no keyword, with the values that it takes in turn: knobs as
            ``{"sched.weight_ms_per_s": [1, 3]}``, and those of a workload as
            ``{"workload.depth": [1, 8]}``. It varies slower than keywords do.
        baseline: Hold the others against this choice, named by its settings or their values
            (``"fcfs"``, ``"sched=fcfs"``); the first when left out.
        jobs: Runs at a time; one per core when left out. It changes nothing but the time.
        requests: Keep a row per request of every run (`Results.requests`).
        commands: Keep a row per command of a drive, of every run (`Results.commands`).
        series: Keep what plots need.
        overload: What is done about a long open load that offers clearly more than the drives can
            do: ``"stop"`` refuses it before it is simulated.
        reading: How the trace's files are read, where they leave it open.
        settings: Settings of `Scenario`, on top of the load; those with several values are varied.

    Raises:
        ConfigError: The scenario, a key or a value is wrong.
        InputError: The trace cannot be read, does not fit the drive, or offers more than it can do.
        CheckError: Requests were lost: a fault of nearslot.
        Interrupted: Ctrl-C; it has the runs that were finished.
    """
    scenario, given, grid = gridded(load, vary, settings)
    native = _simulate(
        scenario,
        given,
        grid,
        described=scenario_file(load),
        baseline=baseline,
        overload=overload,
        reading=reading,
        jobs=jobs,
        series=series,
        requests=requests,
        commands=commands,
    )
    return Results(native)


_SETTINGS = frozenset(Settings.__annotations__)


def gridded(
    load: Scenario | Files | None,
    vary: Mapping[str, Iterable[object]] | None,
    settings: Settings,
) -> tuple[Scenario, list[tuple[str, str]], Mapping[str, Iterable[object]]]:
    """The scenario that all runs have in common, keywords with one value, and what is varied.

    Raises:
        ConfigError: There is no such setting, it is given twice, or there is no load.
    """
    one: dict[str, object] = {}
    several = arguments.settings("vary", vary)
    for key, value in settings.items():
        if key not in _SETTINGS:
            raise _unknown(key)
        single = isinstance(value, str | os.PathLike | Mapping)
        if single or not isinstance(value, Iterable):
            part = isinstance(value, Mapping) and key != "workload"
            one[key] = word(key, value) if part else value
            continue
        if key in several:
            raise config_error(f"vary {key}", list(value), "a keyword or vary, not both")
        several[key] = value
    # `from` is a keyword of Python; None means not given.
    given = [
        (key.removesuffix("_"), word(key, value))
        for key, value in one.items()
        # A load that is a table has no word.
        if value is not None and not (key == "workload" and isinstance(value, Mapping))
    ]
    scenario = _over(load, one)
    bare = not isinstance(load, Scenario) and scenario_file(load) is None and load is not None
    if vary is None and not several and bare and "sched" not in one:
        several["sched"] = SCHEDULERS_DEFAULT
    return scenario, given, several


def _over(load: Scenario | Files | None, settings: dict[str, object]) -> Scenario:
    if load is None:
        workload = settings.pop("workload", None)
        if not isinstance(workload, str | Mapping):
            raise config_error("load", "missing", "a trace, a scenario, or workload=...")
        return Scenario(workload=workload).replace(**settings)
    if "workload" in settings:
        raise config_error("workload", settings["workload"], "left out beside another load")
    return scenario_of(load).replace(**settings)


_SHORT = {
    "cache_size": 'cache="lru:size=..."',
    "offer": 'place="offering:within=..."',
}
"""Options of the command that are short for settings of parts, and what they are short for."""


def _unknown(key: str) -> ConfigError:
    if key in _SHORT:
        allowed = f"{_SHORT[key]}, which the command's --{key.replace('_', '-')} is short for"
        message = f"unknown setting `{key}` (allowed: {allowed})"
        return ConfigError(message, key, None, allowed, None)
    nearest = next(iter(difflib.get_close_matches(key, _SETTINGS, n=1)), None)
    allowed = f"one of {', '.join(sorted(_SETTINGS))}; knobs go into vary"
    hint = f"; did you mean `{nearest}`?" if nearest else ""
    return ConfigError(
        f"unknown setting `{key}`{hint} (allowed: {allowed})", key, None, allowed, nearest
    )


def check_reading(scenario: Scenario, reading: Reading | None) -> None:
    """Refuses settings of how a trace is read if there is no trace."""
    if reading_of(reading) != Reading() and scenario.trace is None:
        raise config_error("reading", repr(reading), "nothing for a load without a trace")


def jobs_of(jobs: object) -> int | None:
    """Runs at a time, if it is said; the engine knows how many are allowed.

    Raises:
        ConfigError: It is no whole number.
    """
    return None if jobs is None else whole("jobs", jobs, least=0)


def scenario_of(load: Scenario | Files) -> Scenario:
    """What was given as a scenario."""
    if isinstance(load, Scenario):
        return load
    path = scenario_file(load)
    return Scenario(trace=load) if path is None else Scenario.read(path)


def scenario_file(load: Scenario | Files | None) -> str | None:
    """The path of a scenario file, if that is what was given."""
    if isinstance(load, str | os.PathLike) and os.fspath(load).endswith(".toml"):
        return os.fspath(load)
    return None


def _simulate(
    scenario: Scenario,
    given: Sequence[tuple[str, str]],
    vary: Mapping[str, Iterable[object]],
    *,
    described: str | None,
    baseline: str | None,
    overload: str,
    reading: Reading | None,
    jobs: int | None,
    series: bool,
    requests: bool,
    commands: bool,
) -> _native.Outcome:
    check_reading(scenario, reading)
    files = scenario.files
    try:
        outcome, raised = _native.simulate(
            scenario.to_toml(),
            directory="",
            inputs=[] if described is None else [described],
            frames=[(file, file.frame) for file in files if isinstance(file, FrameFile)],
            given=given,
            vary=[(key, vary_words(key, values)) for key, values in vary.items()],
            baseline=maybe(text, "baseline", baseline),
            overload=text("overload", overload, "stop or run"),
            piece=False,
            reading=reading_of(reading),
            jobs=jobs_of(jobs),
            series=flag("series", series),
            requests=flag("requests", requests),
            commands=flag("commands", commands),
        )
    except InputError as error:
        raise told(error, files) from None
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
    if isinstance(values, str | bytes):
        raise config_error(f"vary {key}", repr(values), "a list of values")
    words = [word(f"vary {key}", value) for value in values]
    if not words:
        raise config_error(f"vary {key}", "[]", "at least one value")
    return words
