"""What may be asked of the experiments of SARC: what the paper's text leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...errors import config_error
from ..frame import Options as Common
from ..frame import option

SCALES = (1, 2, 4, 8, 16)
"""Parts of the published system that may be simulated: 1 is all of it."""

PARTS_OF_MATRIX = ("tuning", "held-back", "both")


@dataclass(frozen=True, kw_only=True)
class Options(Common):
    """Options of the study. But for `scale` and `load_percent` they are what the text leaves open.

    Attributes:
        scale: One in so many of arrays, cache, write buffer, footprint, load and requests.
        load_percent: Loads as a share of those of the study.
        ratio_cs: Footprint of the cache-sensitive configuration, in sizes of the cache.
        ratio_ci: The same of the cache-insensitive one.
        threshold: Tracks in a row that make a sequence.
        degree: Tracks that are brought beyond one.
        trigger: How many tracks before the end of a group the next one is sent for.
        remedy: Whether the prefetching anomaly is mended.
        stage: What a random miss brings: its track (line) or the pages that are asked for.
        writes: As what writes enter the cache.
        depth_percent: Where LRU-Bottom puts sequences in, above the end of its list.
        bottom_percent: Pages of a bottom, of the cache.
        large_ratio: The ratio above which hits in the bottom of SEQ count.
        step: Of what the goal of SARC moves by half at most.
        nvs_percent: The write buffer, of the cache.
        sched: The scheduler of the drives.
        traces: A folder with traces that the package does not bring; their points of `sarc-own`
            are left out where it has none of them.
        half: Which half of the matrix of `sarc-own` is run.
    """

    QUICK: ClassVar[Mapping[str, int]] = {"requests": 150_000, "seeds": 2}

    drive: str = option("scsi-10k-73gb", str, "drive of the catalog or TOML file")
    requests: int = option(1_000_000, int, "requests of each run, of one array")
    scale: int = option(16, int, "simulate one in so many arrays; 1 is the full size")
    load_percent: float = option(100.0, float, "loads, of those of the study")
    ratio_cs: float = option(20.0, float, "footprint to cache, cache-sensitive")
    ratio_ci: float = option(200.0, float, "footprint to cache, cache-insensitive")
    threshold: int = option(14, int, "tracks in a row that make a sequence")
    degree: int = option(8, int, "tracks that are brought beyond one")
    trigger: int = option(3, int, "tracks between a trigger and the end of its group")
    remedy: str = option("true", str, "whether the prefetching anomaly is mended")
    stage: str = option("line", str, "what a random miss brings: line or pages")
    writes: str = option("classed", str, "as what writes enter the cache")
    depth_percent: float = option(10.0, float, "depth of LRU-Bottom, of the cache")
    bottom_percent: float = option(2.0, float, "pages of a bottom, of the cache")
    large_ratio: float = option(20.0, float, "the large ratio of SARC")
    step: str = option("line", str, "of what the goal moves by half: page or line")
    nvs_percent: float = option(25.0, float, "write buffer, of the cache")
    sched: str = option("satf", str, "scheduler of the drives")
    traces: str = option("", str, "folder with traces that the package does not bring")
    half: str = option("both", str, "half of sarc-own: tuning, held-back or both")

    def __post_init__(self) -> None:
        """Refuses what no run can have; the parts of a run refuse what they cannot be."""
        super().__post_init__()
        if self.scale not in SCALES:
            raise config_error("scale", self.scale, ", ".join(map(str, SCALES)))
        for key in ("load_percent", "ratio_cs", "ratio_ci", "nvs_percent"):
            value = getattr(self, key)
            if not 0 < value <= 10_000:
                raise config_error(key.replace("_", "-"), value, "above 0, 10000 at most")
        if self.half not in PARTS_OF_MATRIX:
            raise config_error("half", self.half, f"one of {', '.join(PARTS_OF_MATRIX)}")
        if self.traces and not Path(self.traces).is_dir():
            raise config_error("traces", self.traces, "a folder")


OF_MATRIX = frozenset({"traces", "half"})
"""Options of `sarc-own` alone."""

OF_SYSTEM = frozenset(Options.asked()) - OF_MATRIX
"""Options of the published system, which all but the matrix, the anomaly and neighbours run on."""
