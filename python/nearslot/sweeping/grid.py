"""What a sweep runs: the grid, and the pieces of it that tasks do."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .. import _native
from .._kinds import PREPARED, Parts
from ..errors import config_error
from ..frames import FrameFile
from ..running import check_reading, gridded, vary_words
from ..scenario import Files, Reading, Scenario, Settings
from .keys import code, drive_files, hashes
from .rows import Rows

# Keys that runs of one task have in common. The engine names only one seed and one fit for all runs
# of a call; what it prepares for several runs at once depends on these, the drive and the seed.
_COMMON = ("seed", "fit", "drive", *PREPARED)

# Runs of a task when they share something that takes longer to prepare than a run.
_TOGETHER_MAX = 16


@dataclass(frozen=True)
class Task:
    """Some runs that one call into the engine does: a grid within the grid."""

    toml: str
    vary: list[tuple[str, list[str]]]
    reading: Reading
    points: list[int]
    code: str


@dataclass(frozen=True)
class Grid:
    """What is to be run.

    Attributes:
        values: What was varied, as it was given.
        words: The same as the engine spells it.
        keys: The hash of each run, in order.
        shares: Whether runs have something in common that takes time to prepare.
        files: What all runs read: the trace, and drives that are described in files.
    """

    toml: str
    values: list[tuple[str, list[object]]]
    words: list[tuple[str, list[str]]]
    reading: Reading
    keys: list[str]
    shares: bool
    files: list[str]

    @classmethod
    def of(
        cls,
        load: Scenario | Files | None,
        vary: Mapping[str, Iterable[object]] | None,
        settings: Settings,
        reading: Reading,
    ) -> Grid:
        """The grid of a call, checked.

        Raises:
            ConfigError: A key or a value is wrong, or a worker could not know what is meant.
            InputError: A file that decides what runs find cannot be read.
        """
        scenario, given, varied = gridded(load, vary, settings)
        check_reading(scenario, reading)
        if "-" in scenario.files:
            raise config_error("trace", "-", "files, which every worker can read")
        for file in scenario.files:
            if isinstance(file, FrameFile):
                allowed = "files, which every worker can read: write the frame to one"
                raise config_error("trace", file.frame, allowed)
        # An iterator can be read only once but is needed twice; a string is one word.
        values = {
            key: several if isinstance(several, str) else list(several)
            for key, several in varied.items()
        }
        words = [(key, vary_words(key, several)) for key, several in values.items()]
        for key, several in words:
            for one in several:
                if several.count(one) > 1:
                    raise config_error(f"vary {key}", one, "each value once")
        _native.check_grid(scenario.to_toml(), directory="", given=given, vary=words)
        _check_drive(scenario, words)
        return cls(
            toml=scenario.to_toml(),
            values=[(key, list(several)) for key, several in values.items()],
            words=words,
            reading=reading,
            keys=hashes(scenario, words, reading),
            shares=scenario.trace is not None or _prepares(scenario, dict(words)),
            files=[*scenario.files, *drive_files(scenario, words)],
        )

    def tasks(self, rows: Rows, runs_per_task: int | None) -> list[Task]:
        """Cuts the runs that have no kept row into tasks."""
        missing = rows.missing()
        together = min(_TOGETHER_MAX, -(-len(missing) // 16)) if self.shares else 1
        most = max(1, together) if runs_per_task is None else runs_per_task
        keys = [key for key, _ in self.words]
        common = [axis for axis, key in enumerate(keys) if key.split(".")[0] in _COMMON]
        shape = [len(several) for _, several in self.words]
        whole = [range(length) for length in shape]
        return [
            Task(
                toml=self.toml,
                vary=self._words_in(piece),
                reading=self.reading,
                points=list(_points(piece, shape)),
                code=code(),
            )
            for piece in _pieces(whole, shape, common, set(missing), most)
        ]

    def _words_in(self, piece: Sequence[range]) -> list[tuple[str, list[str]]]:
        return [
            (key, several[span.start : span.stop])
            for (key, several), span in zip(self.words, piece, strict=True)
        ]


def _pieces(
    box: list[range], shape: list[int], common: list[int], wanted: set[int], most: int
) -> Iterator[list[range]]:
    """Halves a box until each piece has only wanted runs, at most `most`, all alike in `common`."""
    points = list(_points(box, shape))
    hits = sum(point in wanted for point in points)
    if hits == 0:
        return
    longer = [axis for axis, span in enumerate(box) if len(span) > 1]
    first = next((axis for axis in common if axis in longer), None)
    if first is None:
        if hits == len(points) <= most:
            yield box
            return
        first = longer[0]
    span = box[first]
    middle = (span.start + span.stop) // 2
    for half in (range(span.start, middle), range(middle, span.stop)):
        smaller = [*box[:first], half, *box[first + 1 :]]
        yield from _pieces(smaller, shape, common, wanted, most)


def _points(box: Sequence[range], shape: Sequence[int]) -> Iterator[int]:
    """The numbers that a box's runs have in the grid; the last axis varies fastest."""
    for place in itertools.product(*box):
        number = 0
        for index, length in zip(place, shape, strict=True):
            number = number * length + index
        yield number


def _prepares(scenario: Scenario, words: Mapping[str, list[str]]) -> bool:
    """Whether a part is named that may need preparing; the default of a kind never does."""
    usual = Parts().parts
    return any({scenario.parts[kind], *words.get(kind, [])} != {usual[kind]} for kind in PREPARED)


def _check_drive(scenario: Scenario, words: list[tuple[str, list[str]]]) -> None:
    """Refuses a drive that nearslot would choose: pieces of a grid could choose differently."""
    named = dict(words).get("drive", [scenario.drive or "auto"])
    if any(drive.split(":")[0] == "auto" for drive in named):
        allowed = "a drive that is named, as every piece of a sweep would choose one for itself"
        raise config_error("drive", "none named", allowed)
