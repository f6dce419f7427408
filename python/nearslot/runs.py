"""What a run tells: plain data with units in the names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


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
class ProcessFound:
    """What a process of a host has done.

    Attributes:
        name: What it is called.
        stream: Its stream, as in `Results.requests`.
        rounds: How often it did all its steps; that took `mean_s` on average, between `min_s` and
            `max_s`, which are None if it never did.
        ended: Whether it did them as often as it was told to.
        due: Times at which it was to begin a round, of which each has ended, was late or did not
            begin; None without ``every_ms``.
        late: Of these, those whose round took longer than ``every_ms``, or did not begin, as the
            one before was not over.
        read_mb_s: What it read, from the page cache or the drives, from the first start-up on;
            likewise `written_mb_s`.
        held_s: How long it was held since too much was dirty.
        failed: Requests of it that failed.
    """

    name: str
    stream: int
    rounds: int
    ended: bool
    mean_s: float | None
    min_s: float | None
    max_s: float | None
    due: int | None
    late: int | None
    read_mb_s: float
    written_mb_s: float
    held_s: float
    failed: int


@dataclass(frozen=True, kw_only=True)
class ApplicationFound:
    """How soon an application of a host was up; if all counts are 0, it was never started.

    Attributes:
        name: What it is called.
        up: Start-ups after which it was up; these took `mean_s` on average, None if there are none.
        not_up: Start-ups that had not ended when the run did.
        failed: Start-ups of which a request failed.
    """

    name: str
    up: int
    not_up: int
    failed: int
    mean_s: float | None


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


@dataclass(frozen=True, kw_only=True)
class Gone:
    """A drive that is gone from an instant on.

    Attributes:
        drive: Which.
        at_s: Seconds since the start of the measured part; below 0 if it went before.
    """

    drive: int
    at_s: float


@dataclass(frozen=True, kw_only=True)
class StartUp:
    """A start-up of an application of a host, in seconds since the start of the measured part.

    Attributes:
        began_s: When it began; below 0 if that was in the warm-up.
        up_s: When the application was up; None if it was not when the run ended, or a request of it
            failed.
    """

    began_s: float
    up_s: float | None


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
        startups: When a host started applications, the first 64 times.
        gone: Drives that went before the run ended.
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
    startups: list[StartUp] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)

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
        processes: What each process of a host has done; empty where the load is no host.
        applications: How soon each application was up that a host was to start.
        requests: Requests answered; `warmup_requests` of them were cut off the front.
        operations: Requests by operation.
        failed: Requests answered with a failure, by what failed: medium, timed_out, gone,
            map_lost, exhausted, zone. Times,
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
    processes: list[ProcessFound] = field(default_factory=list)
    applications: list[ApplicationFound] = field(default_factory=list)
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
