"""The prefetching anomaly: a larger cache, or more prefetching, that misses more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

from ...frames import FrameFile
from ...running import compare
from ...scenario import Knob, Scenario, part
from ..frame import Experiment, Outcome
from ..statement import Found, Statement
from ..table import Cell, Row, Table
from ..verdict import Check, Kind, Where, at_most, exactly, within
from .options import Options

TRACK_BYTES = 32 * 1024
STEPS = 2_000
OTHERS = 5
"""Reads that never return between two of the sequence."""
DEGREE, TRIGGER, THRESHOLD = 12, 6, 3
# Below, no trigger is ever reached: groups are cut where the cache ends.
SIZES = tuple(range(42, 160, 2))
QUICK_SIZES = SIZES[::2]
AMPLE, STREAMS = 4_000, 20
MISSES = "misses"


@lru_cache(maxsize=4)
def _trace(streams: int, others: int) -> FrameFile:
    """Sequences of whole tracks in turn, with reads between that never return."""
    import pyarrow

    tracks: list[int] = []
    for step in range(STEPS // streams):
        for stream in range(streams):
            tracks.append(stream * 4_000 + step)
            tracks += [200_000 + 2 * (len(tracks) + other) for other in range(others)]
    return FrameFile.of(
        pyarrow.table(
            {
                # So far apart that each has been answered before the next one comes.
                "time_ms": [100.0 * index for index in range(len(tracks))],
                "op": ["read"] * len(tracks),
                "offset_bytes": [track * TRACK_BYTES for track in tracks],
                "length_bytes": [TRACK_BYTES] * len(tracks),
            }
        )
    )


def _cell(
    options: Options, marks: Where, trace: tuple[int, int], size: int, **prefetch: Knob
) -> Cell:
    def run(seeds: Sequence[int]) -> list[Row]:
        knobs = {"threshold": THRESHOLD, "degree": DEGREE, "stripe_tracks": 1, **prefetch}
        one = Scenario(
            trace=_trace(*trace),
            drive=options.drive,
            cache=part("lru", size=f"{size}lines", line_kib=32),
            prefetch=part("sarc", **knobs),
            warmup=0,
        )
        # No chance enters, so one run tells of all seeds.
        found = compare(one, vary={"seed": [seeds[0]]}, series=False).runs[0]
        missed = found.measures["prefetch"]["sequence_misses"]
        return [{"seed": seed, MISSES: missed} for seed in seeds]

    return Cell({**marks, "size": size}, run)


def cells(options: Options) -> list[Cell]:
    """Caches of many sizes with and without the remedy, and ample ones."""
    sizes = QUICK_SIZES if options.quick else SIZES
    swept = [
        _cell(
            options,
            {"of": "sizes", "remedy": remedy},
            (1, OTHERS),
            size,
            trigger=TRIGGER,
            remedy=remedy,
        )
        for remedy in ("false", "true")
        for size in sizes
    ]
    ample = [
        _cell(
            options,
            {"of": "ample", "mode": mode, "streams": streams},
            (streams, 0),
            AMPLE,
            mode=mode,
        )
        for mode in ("sync", "both")
        for streams in (1, STREAMS)
    ]
    return swept + ample


def _misses(table: Table, remedy: str) -> list[float]:
    sizes = table.values("size", of="sizes")
    return [table.mean(MISSES, of="sizes", remedy=remedy, size=size).value for size in sizes]


def _most_more(misses: Sequence[float]) -> float:
    """By how many misses a larger cache exceeds a smaller one at most."""
    least, most = misses[0], 0.0
    for one in misses:
        most = max(most, one - least)
        least = min(least, one)
    return most


def shows(table: Table) -> Found:
    """A05."""
    misses = _misses(table, "false")
    more = exactly("misses more than a smaller cache has", _most_more(misses), within(1, 1e9))
    return Found([more], f"by size: {' '.join(f'{one:.0f}' for one in misses)}")


def mends(table: Table) -> Found:
    """A06."""
    misses = _misses(table, "true")
    return Found(
        [exactly("misses more than a smaller cache has", _most_more(misses), at_most(0))],
        f"by size: {' '.join(f'{one:.0f}' for one in misses)}",
    )


def _ample(table: Table, mode: str, streams: int) -> float:
    return table.mean(MISSES, of="ample", mode=mode, streams=streams).value


def each_group(table: Table) -> Found:
    """A03."""
    checks = []
    for streams in (1, STREAMS):
        expected = STEPS / (DEGREE + 1)
        found = _ample(table, "sync", streams)
        what = f"misses to one a group, {streams} sequences"
        checks.append(exactly(what, found / expected, within(0.95, 1.05), "times"))
    return Found(checks)


def start_only(table: Table) -> Found:
    """A04 and A14."""
    checks: list[Check] = []
    for streams in (1, STREAMS):
        found = _ample(table, "both", streams)
        what = f"misses of each of {streams}"
        checks.append(exactly(what, found / streams, within(1, 1)))
    return Found(checks)


_statement = partial(Statement, kind=Kind.ORDER, turns=False)
SWEPT = (
    f"one sequence among {OTHERS} reads that never return, degree {DEGREE}, trigger {TRIGGER}, "
    f"LRU of {SIZES[0]} to {SIZES[-1]} tracks"
)

STATEMENTS = [
    _statement(
        id="A03",
        statement="With synchronous prefetching alone a steady sequence misses once for each group",
        published="one in m + 1 tracks",
        range=f"1 and {STREAMS} sequences, an ample cache, within 5 %",
        judge=each_group,
    ),
    _statement(
        id="A04",
        statement="With both, a steady sequence never misses after its start",
        published="0",
        range=f"1 and {STREAMS} sequences, an ample cache; one miss tells a sequence",
        judge=start_only,
    ),
    _statement(
        id="A05",
        statement="Without the remedy a larger cache may miss more",
        published="in section II-C",
        range=SWEPT,
        judge=shows,
    ),
    _statement(
        id="A06",
        statement="With the remedy misses never rise with the size of the cache",
        published="in section II-C",
        range=SWEPT,
        judge=mends,
    ),
]


def draw(outcome: Outcome, path: Path) -> None:
    """Misses over the size of the cache."""
    from matplotlib.figure import Figure

    table = Table(outcome.runs)
    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    sizes = table.values("size", of="sizes")
    for remedy, label in (("false", "without the remedy"), ("true", "with the remedy")):
        panel.plot(sizes, _misses(table, remedy), marker=".", label=label)
    panel.set_xlabel("cache (tracks)")
    panel.set_ylabel("misses of the sequence")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    panel.legend()
    figure.savefig(path)


EXPERIMENT = Experiment(
    name="sarc-anomaly",
    question="When does more prefetching, or a larger cache, miss more, and what helps?",
    source="USENIX 2005, section II",
    cells=cells,
    statements=STATEMENTS,
    draw=draw,
    needs=("pyarrow",),
    reads=frozenset({"drive"}),
)
