"""What runs found: plain data with units in the names, and columns for data frames.

Everything that has ``__arrow_c_stream__`` goes into ``polars.DataFrame(x)``,
``pandas.DataFrame.from_arrow(x)`` and ``pyarrow.table(x)`` as it is, without a loop in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from . import _native, arguments
from .errors import ConfigError, InputError
from .frames import Frame
from .inspection import SpanRead
from .runs import Measure, Run
from .warning import Warning  # noqa: A004 (the engine's word for it)

if TYPE_CHECKING:
    import pandas


def pandas_of(rows: Frame) -> pandas.DataFrame:
    """Rows as a ``pandas.DataFrame``.

    Raises:
        ConfigError: pandas is not installed.
    """
    try:
        import pandas

        frame: pandas.DataFrame = pandas.DataFrame.from_arrow(rows)
    except ImportError as error:
        told = f"to_pandas needs pandas and pyarrow: pip install 'nearslot[frames]' ({error})"
        raise ConfigError(told, "pandas", allowed="an installed pandas") from error
    return frame


@dataclass(frozen=True, kw_only=True)
class TraceInfo:
    """Which trace was replayed.

    Attributes:
        hash: XXH3-128 of the records replayed: the same trace has the same one in any format.
        requests: Requests replayed.
        span_s: First to last arrival.
        span: Which part of the trace was replayed; None if all of it.
        fit: What was done to addresses.
        spread: How coarse time stamps were spread.
    """

    files: list[str]
    format: str
    hash: str
    requests: int
    device: str
    span_s: float
    span: SpanRead | None
    fit: str
    spread: str


@dataclass(frozen=True, kw_only=True)
class ChosenDrive:
    """The drive that was chosen, as none was named.

    Attributes:
        name: Its name in the catalog.
        capacity_bytes: What it holds.
        why: Why it is this one, in a sentence.
    """

    name: str
    capacity_bytes: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Varied:
    """A key that a grid varies.

    Attributes:
        role: Whether it changes what asks (``load``) or what answers (``choice``).
        values: In the order given.
    """

    key: str
    role: Literal["load", "choice"]
    values: list[str]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How a mean response time differs from another one under the same load.

    Attributes:
        ms: This mean less the other; None unless both keep up.
        ci95_ms: 95 % confidence interval by paired batch means; None with too few requests to tell.
        word: What that says of this run: ``equal`` has the same mean in every batch, ``undecided``
            an interval that contains 0.
    """

    ms: float | None
    ci95_ms: tuple[float, float] | None
    word: Literal[
        "faster",
        "slower",
        "equal",
        "undecided",
        "too few requests",
        "overloaded",
        "failed",
        "other failed",
        "wrong blocks",
        "other wrong blocks",
    ]


@dataclass(frozen=True, kw_only=True)
class Rank:
    """A place in a ranking.

    Attributes:
        run: Index into the runs.
        place: From 1; runs with the same mean, growth, share of failures or number of wrong blocks
            share a place.
        choice: What distinguishes what answers, such as ``sched=satf``.
        standing: What it is ranked by, from the front of a ranking to its end.
        first: What it is first in; None behind the first place, and for one that shares it by its
            mean.
        ratio_to_best: Its mean response time over that of the best; None unless both keep up.
        against_baseline: None for the baseline, or if that was not finished.
        against_best: None for the best.
    """

    run: int
    place: int
    choice: str
    standing: Literal["keeps up", "overloaded", "failed", "wrong blocks"]
    first: Literal["best", "grows least", "fails least"] | None
    response_ms_mean: float
    ratio_to_best: float | None
    against_baseline: Difference | None
    against_best: Difference | None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Runs under one load, best first: see `Rank.standing`.

    Attributes:
        load: What distinguishes the load; empty where all runs have the same.
        baseline: Index of the baseline's run; None if it was not finished.
    """

    load: str
    baseline: int | None
    ranks: list[Rank]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the runs say of the choices: in words, and in numbers load by load.

    Attributes:
        headline: The answer in a sentence; `details` are what else there is to say.
        baseline: The choice that the others are compared with; None if there is nothing to choose.
        rankings: One for each load under which several runs were finished.
    """

    headline: str
    details: list[str]
    baseline: str | None
    rankings: list[Ranking]


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The JSON of the command, with series."""

    schema: int
    version: str
    build: str
    seed: int
    trace: TraceInfo | None
    drive_chosen: ChosenDrive | None
    runs: list[Run]
    measures: list[Measure]
    varied: list[Varied]
    verdict: Verdict
    runs_planned: int
    warnings: list[Warning]


# Made at import, by one thread: msgspec crashes if several threads learn a type at the same time.
_FOUND = msgspec.json.Decoder(_Found)


class Rows:
    """Rows of every run, run by run.

    The rows lie in a temporary file that lives as long as this object or the results; they are
    decoded as they are asked for. Goes into ``polars.DataFrame(x)``,
    ``pandas.DataFrame.from_arrow(x)`` and ``pyarrow.table(x)``.
    """

    def __init__(self, native: _native.Rows) -> None:
        """Made by `Results`."""
        self._native = native

    def __len__(self) -> int:
        """Number of rows."""
        return self._native.rows()

    def __repr__(self) -> str:
        """In one line."""
        return f"<nearslot.Rows: {len(self)} rows>"

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a ``pandas.DataFrame``.

        Raises:
            ConfigError: pandas is not installed.
        """
        return pandas_of(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A new Arrow C stream over all rows; the schema is what it is.

        Raises:
            InputError: The temporary file cannot be read any more.
        """
        return self._native.stream()

    def to_parquet(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the rows to a file, as ``--requests`` and ``--commands`` of the command do.

        Args:
            path: The file.
            force: Replace a file that exists. A file that was read for the runs is never replaced.

        Raises:
            ConfigError: The file exists, or was read for the runs.
            InputError: It cannot be written.
        """
        self._native.save(arguments.path("path", path), arguments.flag("force", force))


class Results:
    """All runs of a call, in the order of the grid.

    Attributes:
        schema: Version of the layout.
        version: Version of nearslot.
        build: Build of nearslot, as `nearslot.__build__` says it.
        seed: Seed of everything random.
        trace: The trace that was replayed; None for a synthetic workload.
        drive_chosen: The drive that was chosen and why; None if every run has one that was named.
        runs: Fewer than `runs_planned` after an interruption, or where nothing of a run could be
            measured.
        measures: What the numbers in the `measures` of runs are; only those that a run has.
        varied: The keys that the grid varies, in its order.
        verdict: What the runs say of the choices; one ranking for each load.
        warnings: What to know before believing the numbers.
    """

    def __init__(self, native: _native.Outcome) -> None:
        """Made by `nearslot.run` and `nearslot.compare`."""
        self._native = native
        found = _FOUND.decode(native.json(True))
        self.schema = found.schema
        self.version = found.version
        self.build = found.build
        self.seed = found.seed
        self.trace = found.trace
        self.drive_chosen = found.drive_chosen
        self.runs = found.runs
        self.measures = found.measures
        self.varied = found.varied
        self.verdict = found.verdict
        self.runs_planned = found.runs_planned
        self.warnings = found.warnings

    @property
    def best(self) -> Run:
        """The run that the verdict ranks first, of runs under one load.

        Raises:
            InputError: No run was finished, or there are several loads: each has a best of its own
                (`Verdict.rankings`).
        """
        if not self.runs:
            raise InputError("no run was finished, so none is the best")
        loads = {run.load for run in self.runs}
        if len(loads) > 1:
            several = ", ".join(sorted(loads))
            raise InputError(f"each of the loads {several} has a best of its own: verdict.rankings")
        # A single run is not ranked.
        first = self.verdict.rankings[0].ranks[0].run if self.verdict.rankings else 0
        return self.runs[first]

    @property
    def requests(self) -> Rows:
        """One row per request, in the order of the answers.

        Columns: ``run`` (label), ``op``, ``warmup``, ``id`` (order of arrival), ``stream``, ``lba``
        and ``blocks`` (of 512 bytes), ``arrival_ns``, ``start_ns`` (on the drive),
        ``completion_ns``, and what the drive spent: ``seek_ns``, ``rotation_ns``, ``transfer_ns``,
        ``overhead_ns``.

        Raises:
            InputError: They were not asked for.
        """
        native = self._native.requests()
        if native is None:
            raise InputError("rows of requests were not kept: ask for them with requests=True")
        return Rows(native)

    @property
    def commands(self) -> Rows:
        """One row per command of a drive, in the order in which they ended.

        Columns: ``run`` (label), ``op``, ``status``, ``open`` (its address was bound when it
        started), ``drive``, ``pba`` and ``blocks`` (of 512 bytes), ``cylinder`` (of the first
        block), ``start_ns`` (the drive was given it), ``begun_ns`` (it began it, which is later on
        a drive that holds several), ``overhead_ns``, ``seek_ns``, ``rotation_ns``,
        ``transfer_ns``, ``waiting`` (other I/Os that waited before the drive when it was given this
        one), ``request`` (that it belongs to; none if a placement gave it for itself), ``lba`` (the
        volume's first block that it moved, if any) and ``free_slots`` (of the drive, where a
        placement keeps a map of them).

        Raises:
            InputError: They were not asked for.
        """
        native = self._native.commands()
        if native is None:
            raise InputError("rows of commands were not kept: ask for them with commands=True")
        return Rows(native)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command as plain data, without series."""
        plain: dict[str, Any] = msgspec.json.decode(self._native.json(False))
        return plain

    def to_html(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes one self-contained page with tables and plots.

        Args:
            path: The file.
            force: Replace a file that exists. A file that was read for the runs is never replaced.

        Raises:
            ConfigError: The file exists, or was read for the runs.
            InputError: It cannot be written.
        """
        self._native.html(arguments.path("path", path), arguments.flag("force", force))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A new Arrow C stream, one row a run: the columns of ``--format csv``.

        The schema is what it is, whatever is requested.
        """
        return self._native.stream()

    def to_pandas(self) -> pandas.DataFrame:
        """One row a run as a ``pandas.DataFrame``: the columns of ``--format csv``.

        Raises:
            ConfigError: pandas is not installed.
        """
        return pandas_of(self)

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        """The runs, in the order of the grid."""
        return iter(self.runs)

    @overload
    def __getitem__(self, which: int | str) -> Run: ...
    @overload
    def __getitem__(self, which: slice) -> list[Run]: ...
    def __getitem__(self, which: int | str | slice) -> Run | list[Run]:
        """A run by its place in the grid, or by settings that were varied or their values.

        ``results["satf"]``, ``results["sched=satf depth=8"]``, ``results["satf 8"]``.

        Raises:
            KeyError: No run has these settings, or several have; it names the runs.
            IndexError: There is no such place.
        """
        if not isinstance(which, str):
            return self.runs[which]
        found = [run for run in self.runs if _bears(run, which)]
        if len(found) == 1:
            return found[0]
        there = ", ".join(repr(run.label) for run in (found or self.runs)) or "none"
        if not found:
            raise KeyError(f"no run has {which!r}; the runs are {there}")
        raise KeyError(f"{len(found)} runs have {which!r}: {there}")

    def _repr_html_(self) -> str:
        """The verdict and the rankings, for notebooks."""
        from .markup import results_html

        return results_html(self)

    def __str__(self) -> str:
        """The table of the command."""
        return self._native.table(None)

    def __repr__(self) -> str:
        """In one line."""
        name, runs = type(self).__name__, f"{len(self)} of {self.runs_planned} runs"
        return f"<nearslot.{name}: {runs}. {self.verdict.headline}>"


def _bears(run: Run, words: str) -> bool:
    """Whether a run has all of these settings, or their values; what all share is in no label."""
    varied = (f"{key}={value}" for key, value in run.settings.items())
    settings = [*run.label.split(" "), *varied]
    known = {*settings, *(setting.partition("=")[2] for setting in settings)}
    return run.label == words or (bool(words.split()) and known.issuperset(words.split()))


class Outcome(Results):
    """The results of a single run."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.runs[0]
