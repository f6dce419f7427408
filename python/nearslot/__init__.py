"""Rehearse block storage: replay a trace against modelled drives and rank policies by latency.

    import nearslot

    found = nearslot.inspect("mytrace.blktrace.0")
    results = nearslot.compare("mytrace.blktrace.0", replay="closed", sched=["fcfs", "satf"])
    print(results)                       # the table
    results["satf"].response_ms.p99      # one run
    results.to_html("report.html")       # one page with plots
    polars.DataFrame(results)            # one row a run, over the Arrow C stream

Times are virtual: a run repeats bit for bit. Names of arguments and results carry their units.
"""

from ._native import __build__, __version__
from .capacity import Capacity, Objective, Reached, Tried, capacity
from .errors import CheckError, ConfigError, InputError, Interrupted, NearslotError, WorkerError
from .hitting import CacheMisses, HitRates, Sampled, hitrate
from .inspection import Inspection, SpanRead
from .parts import Knob, Part, show
from .parts import list_parts as list  # noqa: A004 (read as nearslot.list)
from .results import (
    ChosenDrive,
    Difference,
    Outcome,
    Rank,
    Ranking,
    Results,
    Rows,
    TraceInfo,
    Varied,
    Verdict,
)
from .running import compare, inspect, run
from .runs import (
    ApplicationFound,
    Demand,
    FreeSpace,
    Gaps,
    Gone,
    LostBlocks,
    LostExtent,
    Measure,
    ProcessFound,
    Run,
    Series,
    StartUp,
    StreamResponse,
    Stretch,
    Times,
    Traced,
    VolumePlace,
    VolumeResponse,
)
from .scenario import Reading, Scenario, part
from .sweeping import RayExecutor, Swept, sweep

__all__ = [
    "ApplicationFound",
    "CacheMisses",
    "Capacity",
    "CheckError",
    "ChosenDrive",
    "ConfigError",
    "Demand",
    "Difference",
    "FreeSpace",
    "Gaps",
    "Gone",
    "HitRates",
    "InputError",
    "Inspection",
    "Interrupted",
    "Knob",
    "LostBlocks",
    "LostExtent",
    "Measure",
    "NearslotError",
    "Objective",
    "Outcome",
    "Part",
    "ProcessFound",
    "Rank",
    "Ranking",
    "RayExecutor",
    "Reached",
    "Reading",
    "Results",
    "Rows",
    "Run",
    "Sampled",
    "Scenario",
    "Series",
    "SpanRead",
    "StartUp",
    "StreamResponse",
    "Stretch",
    "Swept",
    "Times",
    "TraceInfo",
    "Traced",
    "Tried",
    "Varied",
    "Verdict",
    "VolumePlace",
    "VolumeResponse",
    "WorkerError",
    "__build__",
    "__version__",
    "capacity",
    "compare",
    "hitrate",
    "inspect",
    "list",
    "part",
    "run",
    "show",
    "sweep",
]
