"""What runs found: plain data with units in the names, and columns for data frames.

Everything that has ``__arrow_c_stream__`` goes into ``polars.DataFrame(x)``,
``pandas.DataFrame.from_arrow(x)`` and ``pyarrow.table(x)`` as it is, without a loop in Python.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import msgspec

from . import _native
from .errors import InputError


@dataclass(frozen=True, kw_only=True)
class TraceInfo:
    """Which trace was replayed.

    Attributes:
        hash: XXH3-128 of the records replayed: the same trace has the same one in any format.
        requests: Requests replayed.
        span_s: First to last arrival.
        fit: What was done to addresses.
        spread: How coarse time stamps were spread.
    """

    files: list[str]
    format: str
    hash: str
    requests: int
    device: str
    span_s: float
    fit: str
    spread: str


@dataclass(frozen=True, kw_only=True)
class Times:
    """A distribution of times in milliseconds.

    Attributes:
        ci95: 95 % confidence interval of the mean, low and high; None when there are too few
            requests to tell.
    """

    mean: float
    p50: float
    p95: float
    p99: float
    p999: float
    max: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Series:
    """What plots need.

    Attributes:
        cdf_ms: Response times, rising; `cdf_share` of requests (0..=1) took no longer.
        time_s: Start of each interval of the run; `rate_rps`, `response_ms` (None if none was
            answered) and `queue` are of the same intervals.
        arm_s: Starts on the drive, some thousands in a row; `arm_share` is where, as a share of the
            drive's blocks, `arm_band` on which cylinder, `arm_write` whether to write.
    """

    cdf_ms: list[float]
    cdf_share: list[float]
    time_s: list[float]
    rate_rps: list[float]
    response_ms: list[float | None]
    queue: list[float]
    arm_s: list[float]
    arm_share: list[float]
    arm_band: list[int]
    arm_write: list[bool]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One simulated run. Times are without the warm-up.

    Attributes:
        label: What distinguishes it, such as ``sched=satf depth=8``.
        config: Everything in effect, defaults spelled out.
        replay: How requests came: open, closed, dependent, or the workload's name.
        requests: Requests answered; `warmup_requests` of them were cut off the front.
        operations: Requests by operation.
        pending: Requests never answered; 0 unless the run was cut short.
        duration_s: Virtual time measured.
        throughput_mb_s: Megabytes (10^6) read and written per second.
        response_ms: Arrival to answer; `wait_ms` is until the start on the drive, `service_ms` from
            there.
        seek_ms: Mean per request; so are `rotation_ms`, `transfer_ms`, `overhead_ms`.
        utilisation: Share of the time that the drive was busy.
        queue_mean: Requests in the system, averaged over time.
        simulated_in_s: Wall-clock time of the simulation; the one value that does not repeat.
        series: What plots need; None if it was not asked for.
    """

    label: str
    config: dict[str, Any]
    replay: str
    requests: int
    warmup_requests: int
    operations: dict[str, int]
    pending: int
    duration_s: float
    throughput_rps: float
    throughput_mb_s: float
    response_ms: Times
    read_response_ms: Times | None
    write_response_ms: Times | None
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
    queue_mean: float
    queue_max: int
    simulated_in_s: float
    series: Series | None = None


@dataclass(frozen=True, kw_only=True)
class Rank:
    """A place in the ranking.

    Attributes:
        run: Index into the runs.
        ratio_to_best: Its mean response time over that of the best.
        beyond_noise: Whether the difference to the one above is real (95 %); None for the best, or
            if there are too few requests to tell.
    """

    run: int
    label: str
    response_ms_mean: float
    ratio_to_best: float
    beyond_noise: bool | None


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The JSON of the command, with series."""

    schema: int
    version: str
    seed: int
    trace: TraceInfo | None
    runs: list[Run]
    ranking: list[Rank]
    runs_planned: int
    warnings: list[str]


class Requests:
    """One row per request of every run, in the order of the answers within a run.

    Columns: ``run`` (label), ``op``, ``warmup``, ``id`` (order of arrival), ``stream``, ``lba`` and
    ``blocks`` (of 512 bytes), ``arrival_ns``, ``start_ns`` (on the drive), ``completion_ns``, and
    what the drive spent: ``seek_ns``, ``rotation_ns``, ``transfer_ns``, ``overhead_ns``.

    The rows lie in a temporary file that lives as long as this object or the results; they are
    decoded as they are asked for.
    """

    def __init__(self, native: _native.Requests) -> None:
        """Made by `Results`."""
        self._native = native

    def __len__(self) -> int:
        """Number of rows."""
        return self._native.rows()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A new Arrow C stream over all rows; the schema is what it is.

        Raises:
            InputError: The temporary file cannot be read any more.
        """
        return self._native.stream()

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows to a file, as ``--requests`` of the command does.

        Raises:
            InputError: It cannot be written.
        """
        self._native.save(os.fspath(path))


class Results:
    """All runs of a call, in the order of the grid.

    Attributes:
        schema: Version of the layout.
        version: Version of nearslot.
        seed: Seed of everything random.
        trace: The trace that was replayed; None for a synthetic workload.
        runs: Fewer than `runs_planned` after an interruption.
        ranking: Best first, by mean response time.
        warnings: What to know before believing the numbers.
    """

    def __init__(self, native: _native.Outcome) -> None:
        """Made by `nearslot.run` and `nearslot.compare`."""
        self._native = native
        found = msgspec.json.decode(native.json(True), type=_Found)
        self.schema = found.schema
        self.version = found.version
        self.seed = found.seed
        self.trace = found.trace
        self.runs = found.runs
        self.ranking = found.ranking
        self.runs_planned = found.runs_planned
        self.warnings = found.warnings

    @property
    def best(self) -> Run:
        """The run with the lowest mean response time.

        Raises:
            InputError: No run was finished.
        """
        if not self.ranking:
            raise InputError("no run was finished, so none is the best")
        return self.runs[self.ranking[0].run]

    @property
    def requests(self) -> Requests:
        """One row per request.

        Raises:
            InputError: They were not asked for.
        """
        native = self._native.requests()
        if native is None:
            raise InputError("rows of requests were not kept: ask for them with requests=True")
        return Requests(native)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command as plain data, without series."""
        plain: dict[str, Any] = msgspec.json.decode(self._native.json(False))
        return plain

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained page with tables and plots.

        Raises:
            InputError: It cannot be written.
        """
        self._native.html(os.fspath(path))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A new Arrow C stream, one row a run: the columns of ``--format csv``.

        The schema is what it is, whatever is requested.
        """
        return self._native.stream()

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def __str__(self) -> str:
        """The table of the command."""
        return self._native.table(None)

    def __repr__(self) -> str:
        """In one line."""
        best = f", best {self.best.label!r}" if self.ranking else ""
        return f"<nearslot.{type(self).__name__}: {len(self)} of {self.runs_planned} runs{best}>"


class Outcome(Results):
    """The results of a single run."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.runs[0]
