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

from . import _native
from .errors import ConfigError, InputError
from .frames import Frame
from .inspection import SpanRead
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
class VolumePlace:
    """A volume of the trace, and where it was placed.

    Attributes:
        device: The device, by its name in the trace.
        requests: Its requests.
        end_bytes: First byte behind the highest that they touch.
        drive: The drive that it has for itself; None if volumes lie one behind the other.
        first_block: Where it begins, before addresses are fitted: in 512-byte blocks of that drive,
            or of what the placement makes of its drives.
    """

    device: str
    requests: int
    end_bytes: int
    drive: int | None
    first_block: int


@dataclass(frozen=True, kw_only=True)
class VolumeResponse:
    """Response times of a volume: reads and writes that were measured.

    Attributes:
        device: The device, by its name in the trace.
        requests: How many were answered.
        failed: How many failed; they are in no mean, and beyond all others in percentiles.
        mean_ms: The mean of those answered; None, as the others, if there was none.
        p50_ms: Median; of many volumes, as `p99_ms`, told of the 256 with most requests.
        p99_ms: None, too, where fewer than five requests are expected beyond it.
        max_ms: Longest.
    """

    device: str
    requests: int
    failed: int
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, kw_only=True)
class LostExtent:
    """A run of lost blocks.

    Attributes:
        first_block: The first, by its address in the volume.
        blocks: How many.
    """

    first_block: int
    blocks: int


@dataclass(frozen=True, kw_only=True)
class LostBlocks:
    """What no drive told any more at the end of a run, so that reads of it fail.

    Attributes:
        blocks: How many 512-byte blocks.
        extents: Where these are, by address: all of them, or the first hundred runs.
    """

    blocks: int
    extents: list[LostExtent]


@dataclass(frozen=True, kw_only=True)
class StreamResponse:
    """Response times of the reads or of the writes of a stream, of those that were measured.

    Attributes:
        stream: Who asks, as ``stream`` in `Results.requests`.
        name: What the trace calls it; empty if it has no name.
        op: read or write.
        requests: How many were answered.
        failed: How many failed; they are in no mean, and beyond all others in percentiles.
        mean_ms: The mean of those answered; None, as the others, if there was none.
        p50_ms: Median; of many streams, as `p99_ms`, told of the 128 that came first.
        p99_ms: None, too, where fewer than five requests are expected beyond it.
        max_ms: Longest.
    """

    stream: int
    name: str
    op: Literal["read", "write"]
    requests: int
    failed: int
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, kw_only=True)
class Times:
    """A distribution of times in milliseconds.

    Attributes:
        mean: Of the requests that were answered, as `max`.
        p50: Percentiles of response times are those of all requests: one that failed was never
            answered. None, as the others, where as many failed as lie beyond it.
        p95: None, too, as those below, where fewer than five requests are expected beyond it.
        ci95: 95 % confidence interval of the mean, low and high; None when there are too few
            requests to tell, or the queue grew.
        p99_ci95: The same of the 99th percentile, and `p999_ci95` of the 99.9th; told of response
            times.
    """

    mean: float
    p50: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    max: float
    ci95: tuple[float, float] | None
    p99_ci95: tuple[float, float] | None
    p999_ci95: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What an open load asks for, and about what the drives can do, found out before the run.

    Attributes:
        offered_rps: Requests that come per second, over the whole load; `offered_mb_s` is what they
            are about.
        busiest_rps: The same in the busiest tenth of the load.
        ability_rps: Requests per second that the drives answer under constant pressure, estimated
            from a sample.
        load_factor: What is offered over what can be done; above 1 the queue grows.
    """

    offered_rps: float
    offered_mb_s: float
    busiest_rps: float
    busiest_mb_s: float
    ability_rps: float
    ability_mb_s: float
    load_factor: float


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What a number in `Run.measures` is.

    Attributes:
        of: Who counts: the key of a kind of parts, or of a measurement.
        name: Its name there. As a column of frames it is called ``{of}_{name}``.
        unit: What it counts, or its unit.
        help: What it says, in a line.
    """

    of: str
    name: str
    unit: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The response times that a trace tells of the requests that a run measured.

    Attributes:
        requests: Reads and writes that were answered and that the trace tells it of; `untold` are
            the answered ones that it does not tell it of. Those that failed are on neither side.
        demerit_ms: How far the distributions of simulated and traced response times are apart: the
            root mean square of their distance at equal ranks; None where the queue grew.
        demerit_share: The same as a share of the traced mean; None, too, if that is 0.
    """

    requests: int
    untold: int
    response_ms: Times
    read_response_ms: Times | None
    write_response_ms: Times | None
    demerit_ms: float | None
    demerit_share: float | None


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The gaps between consecutive reads of a drive, over a stretch of commands.

    Attributes:
        by_writes: How many gaps there are with 0, 1, 2 ... writes; the last has those with more.
        ms_mean: From the end of a read to where the first sector of the next comes by;
            `seek_ms_mean` of it the arm moved, `rotation_ms_mean` the heads only waited for the
            platter.
    """

    by_writes: list[int]
    writes_mean: float
    ms_mean: float
    seek_ms_mean: float
    rotation_ms_mean: float


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Figures of a stretch of consecutive commands, over all its drives.

    Attributes:
        open_writes: Writes whose address was open until they started.
        gaps: None if no two reads follow each other.
    """

    span_s: float
    reads: int
    writes: int
    open_writes: int
    gaps: Gaps | None


@dataclass(frozen=True, kw_only=True, repr=False)
class FreeSpace:
    """Free slots of a drive over time, by groups of neighbouring cylinders.

    Attributes:
        cylinders: First cylinder of each group, and behind the last one.
        free_per_10k: Ten thousandths of the slots that were free, by time, then by group.
    """

    drive: int
    cylinders: list[int]
    time_s: list[float]
    free_per_10k: list[list[int]]

    def __repr__(self) -> str:
        """In one line."""
        seen = f"{len(self.time_s)} times, {max(0, len(self.cylinders) - 1)} groups of cylinders"
        return f"<nearslot.FreeSpace of drive {self.drive}: {seen}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Series:
    """The data of the plots.

    Attributes:
        cdf_ms: Response times, rising; `cdf_share` of requests (0..=1) took no longer.
        traced_cdf_ms: The same as the trace tells it; empty where the run has no `traced`.
        time_s: Start of each interval of the run; `rate_rps`, `response_ms` (None if none was
            answered), `queue` and of it `queue_read` and `queue_write` are of the same intervals.
        arm_s: Commands of the drives, some thousands in a row from the middle of the run;
            `arm_drive` is on which, `arm_share` where, as a share of the drive's blocks, `arm_from`
            and `arm_cylinder` the cylinders before and after the seek, `arm_write` whether to
            write, `arm_open` whether the address was open until then; the rest what the time went
            into.
        stretch: What these commands come to; None if there are none.
        free: Free slots over time, for the first few drives that a placement keeps a map of.
    """

    cdf_ms: list[float]
    cdf_share: list[float]
    traced_cdf_ms: list[float]
    traced_cdf_share: list[float]
    time_s: list[float]
    rate_rps: list[float]
    response_ms: list[float | None]
    queue: list[float]
    queue_read: list[float]
    queue_write: list[float]
    arm_s: list[float]
    arm_drive: list[int]
    arm_share: list[float]
    arm_from: list[int]
    arm_cylinder: list[int]
    arm_write: list[bool]
    arm_open: list[bool]
    arm_overhead_ms: list[float]
    arm_seek_ms: list[float]
    arm_rotation_ms: list[float]
    arm_transfer_ms: list[float]
    stretch: Stretch | None
    free: list[FreeSpace]

    def __repr__(self) -> str:
        """In one line."""
        seen = f"{len(self.time_s)} intervals, {len(self.arm_s)} commands of drives"
        return f"<nearslot.Series: {len(self.cdf_ms)} points of the distribution, {seen}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Run:
    """One simulated run. Times are without the warm-up.

    Attributes:
        label: What distinguishes it, such as ``sched=satf depth=8``; of it `load` is what asks,
            empty where all runs have the same, and `choice` what answers.
        settings: The keys that the grid varies, with their values here.
        config: Everything in effect, defaults spelled out.
        replay: How requests came: open, closed, dependent, or the workload's name.
        volumes: Where each volume of a trace with several was placed; empty otherwise.
        volume_responses: Response times of each of these volumes, in their order; empty, too, where
            fitted addresses do not tell them apart.
        stream_responses: Response times of each stream, reads and writes apart, where a trace says
            who asks, and several do; empty otherwise.
        requests: Requests answered; `warmup_requests` of them were cut off the front.
        operations: Requests by operation.
        failed: Requests answered with a failure, by what failed: medium, timed_out, gone,
            map_lost. Times,
            throughput and costs are without them.
        pending: Requests never answered; 0 unless the run was cut short.
        duration_s: Virtual time measured.
        throughput_mb_s: Megabytes (10^6) read and written per second.
        response_ms: Arrival to answer; `wait_ms` is until the start on the drive, `service_ms` from
            there.
        seek_ms: Mean per request; so are `rotation_ms`, `transfer_ms`, `overhead_ms`. Of requests
            with several commands they are sums over these, and do not add up to the service time.
            What faults add is overhead.
        utilisation: Share of the time that the drive was busy; of several drives the mean.
        utilisation_max: The same of the drive that was busiest.
        queue_mean: Requests in the system, averaged over time: those of the warm-up that were still
            there count, and those that fail, which are in no response time.
        measures: What parts and measurements have counted, by who counts and by name;
            `Results.measures` says what that is.
        demand: What the load asks for and what can be done; None where requests wait for answers.
        queue_growth_rps: By how many requests a second the queue grew; None if it did not grow all
            the time. Where it grew, response times tell how long the load is.
        traced: What the trace tells of its own response times; None where it tells nothing, or was
            not replayed at its own times.
        simulated_in_s: Wall-clock time of the simulation; the one value that does not repeat.
        lost: What no drive told any more at the end; None if nothing was lost, or if the placement
            keeps no account of that.
        series: What plots need; None if it was not asked for.
    """

    label: str
    load: str
    choice: str
    settings: dict[str, str]
    config: dict[str, Any]
    replay: str
    volumes: list[VolumePlace]
    volume_responses: list[VolumeResponse]
    stream_responses: list[StreamResponse]
    requests: int
    warmup_requests: int
    operations: dict[str, int]
    failed: dict[str, int]
    pending: int
    duration_s: float
    throughput_rps: float
    throughput_mb_s: float
    response_ms: Times
    read_response_ms: Times | None
    write_response_ms: Times | None
    flush_response_ms: Times | None
    wait_ms: Times
    read_wait_ms: Times | None
    write_wait_ms: Times | None
    service_ms: Times
    read_service_ms: Times | None
    write_service_ms: Times | None
    seek_ms: float
    rotation_ms: float
    transfer_ms: float
    overhead_ms: float
    utilisation: float
    utilisation_max: float
    queue_mean: float
    queue_max: int
    measures: dict[str, dict[str, int | float]]
    demand: Demand | None
    queue_growth_rps: float | None
    traced: Traced | None
    simulated_in_s: float
    lost: LostBlocks | None = None
    series: Series | None = None

    def __repr__(self) -> str:
        """In one line; ``msgspec.to_builtins(run)`` has everything."""
        times = self.response_ms
        tail = "" if times.p99 is None else f", p99 {times.p99:.4g} ms"
        said = f"{self.requests} requests, mean {times.mean:.4g} ms{tail}"
        if self.queue_growth_rps is not None:
            # While the queue grows, response times depend on the length of the load.
            growth = f"the queue grows by {self.queue_growth_rps:.4g} requests/s"
            said = f"{self.requests} requests, {growth}"
        return f"<nearslot.Run {self.label}: {said}, {self.throughput_rps:.4g} requests/s>"


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
        self._native.save(os.fspath(path), force)


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

        Columns: ``run`` (label), ``op``, ``open`` (its address was bound when it started),
        ``drive``, ``pba`` and ``blocks`` (of 512 bytes), ``cylinder`` (of the first block),
        ``start_ns``, ``overhead_ns``, ``seek_ns``, ``rotation_ns``, ``transfer_ns``, ``waiting``
        (other I/Os that waited for the drive then), ``request`` (that it belongs to; none if a
        placement gave it for itself), ``lba`` (the volume's first block that it moved, if any) and
        ``free_slots`` (of the drive, where a placement keeps a map of them).

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
        self._native.html(os.fspath(path), force)

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
        """A run by its place in the grid, or by settings of its label or their values.

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
    """Whether a run's label has all of these settings, or values of settings."""
    settings = run.label.split(" ")
    known = {*settings, *(setting.partition("=")[2] for setting in settings)}
    return run.label == words or (bool(words.split()) and known.issuperset(words.split()))


class Outcome(Results):
    """The results of a single run."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.runs[0]
