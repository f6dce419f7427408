"""What is to be run: a scenario, the same data as the command's TOML files."""

from __future__ import annotations

import dataclasses
import math
import os
import reprlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import tomli_w

from . import _native, arguments
from ._kinds import KINDS, Parts, PartSettings, Words
from .arguments import flag, is_file_name, is_utf8, maybe, text, whole
from .errors import InputError, config_error
from .frames import Frame, FrameFile

File: TypeAlias = str | os.PathLike[str] | Frame
"""A file of a trace, or a data frame; ``-`` is standard input."""

Files: TypeAlias = File | Sequence[File]
"""One file or data frame, or several that are one trace."""

Knob: TypeAlias = bool | int | float | str
"""The value of a knob."""

Workload: TypeAlias = str | Mapping[str, Any]
"""A synthetic load as a word, or as a table of a scenario file: ``name`` and knobs."""

_TRACE_SETTINGS = (
    "format",
    "device",
    "volumes",
    "from_",
    "to",
    "busiest",
    "limit",
    "replay",
    "depth",
    "refill",
    "speed",
    "fit",
    "service_guess_us",
)


class Settings(PartSettings, total=False):
    """Settings of a scenario as keywords; what takes several values makes a grid.

    They are those of `Scenario`.
    """

    workload: Workload
    drive: Words
    replay: Words
    depth: int | Iterable[int]
    refill: Words
    speed: float | Iterable[float]
    fit: Words
    service_guess_us: float | Iterable[float]
    format: str
    device: str
    volumes: Words
    from_: str
    to: str
    busiest: str
    limit: int
    warmup: str | int | Iterable[object]
    seed: int | Iterable[int]


_PARTS = ("drive", *KINDS, "workload")


def word(key: str, value: object) -> str:
    """A setting as the command line spells it; a part may be a mapping with ``name`` and knobs.

    Raises:
        ConfigError: It is neither a flag, a finite number, a word, nor a part.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return text(key, value)
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(Path(value))
    # As results write a part.
    if isinstance(value, Mapping) and key.removeprefix("vary ") in _PARTS:
        knobs = dict(value)
        name = knobs.pop("name", None)
        if isinstance(name, str) and all(isinstance(knob, str) for knob in knobs):
            return part(name, **knobs)
        raise config_error(key, repr(value), "a mapping with `name` and knobs, or a word")
    raise config_error(key, repr(value), "true or false, a finite number, or a word")


def part(name: str, /, **knobs: Knob) -> str:
    """A part with settings of its knobs, as a word.

    ``part("aged_satf", weight_ms_per_s=0.5)`` is ``"aged_satf:weight_ms_per_s=0.5"``.

    Raises:
        ConfigError: A value has no word, or has a ``:``, which parts knobs from each other.
    """
    words = [
        text("name", name),
        *(f"{key}={word(f'{name}.{key}', value)}" for key, value in knobs.items()),
    ]
    for piece in words:
        if ":" in piece:
            raise config_error(name, piece, "names and values without `:`")
    return ":".join(words)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a trace's files are read, where they leave it open.

    Attributes:
        columns: Columns of a CSV without a telling header,
            ``"ts=1:us,op=2:R/W,offset=3:bytes,len=4:bytes"``.
        time_unit: Unit of times where the format leaves it open.
        block_size_bytes: Bytes per object, for formats that have object ids instead of addresses.
        fio_wait: What the waits of a fio iolog of version 2 mean, instead of finding out.
        spread: What is done with time stamps coarser than 1 ms; even when left out. If it is asked
            for and no stamp is coarse, that is an error.
        reorder_ms: How far requests may be out of order behind the first 131,072; a second when
            left out. If it is asked for and none is, that is an error.
        sort: Sort the whole trace first, however far out of order.
        strict: Stop at the first bad line instead of counting it.
    """

    columns: str | None = None
    time_unit: Literal["s", "ms", "us", "ns"] | None = None
    block_size_bytes: int | None = None
    fio_wait: Literal["abs-ms", "rel-us"] | None = None
    spread: Literal["even", "poisson", "none"] | None = None
    reorder_ms: int | None = None
    sort: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        """Refuses what is of no use to the engine; the engine knows the words.

        Raises:
            ConfigError: A setting is of another type.
        """
        for key in ("columns", "time_unit", "fio_wait", "spread"):
            maybe(text, key, getattr(self, key))
        for key, least in (("block_size_bytes", 1), ("reorder_ms", 0)):
            if getattr(self, key) is not None:
                whole(key, getattr(self, key), least=least)
        for key in ("sort", "strict"):
            flag(key, getattr(self, key))


def reading_of(reading: object) -> Reading:
    """How files are read, as it was given.

    Raises:
        ConfigError: It is no `Reading`.
    """
    if reading is None:
        return Reading()
    if isinstance(reading, Reading):
        return reading
    raise config_error("reading", reprlib.repr(reading), "a nearslot.Reading")


@dataclass(frozen=True, kw_only=True)
class Scenario(Parts):
    """A load, the drive it runs on, and the policies between them.

    The load is either a ``trace`` or a ``workload``. Parts are words, with settings of their knobs
    if need be: ``"satf"``, ``"aged_satf:weight_ms_per_s=0.5"``, ``"iometer:depth=8"`` (see `part`,
    `nearslot.list`, `nearslot.show`). What is None has the engine's default. The parts that a stack
    is made of are those of `Parts`; `parts` has them by their kinds.

    Attributes:
        trace: Files of one trace, or data frames; kept as a tuple of paths. The columns of a frame
            are named as those of a CSV: ``ts_us``, ``op``, ``offset``, ``size``, ``device``.
        workload: A synthetic load, as a word or as a mapping with ``name`` and knobs. `host` needs
            the latter for processes of your own:
            ``{"name": "host", "process": [{"name": ..., "steps": ...}]}``.
        drive: A name of the catalog or the path of a drive's TOML file; when left out, the smallest
            disk of the catalog that was sold since 2005 and holds the load
            (`Results.drive_chosen`).
        replay: How arrivals are made of the trace [open].
        depth: Requests in flight in a closed replay [16].
        refill: In a closed replay, whether the request that an answer brings comes after or
            before the drive chooses its next command [after].
        speed: Arrival times are divided by this [1.0].
        fit: What is done about addresses beyond the drive; with "none" they are an error [none].
        service_guess_us: Response time in a dependent replay of requests whose completion the trace
            does not tell.
        format: The trace's format, when it is not to be detected.
        device: Which device of several.
        volumes: How several devices are placed: "concat" (one behind the other on the drive, or on
            the array of `place`) or "own-drives" (each on a drive of its own).
        from_: Only what came at this time after the first request, or later: "90s", "1h30m".
        to: Only what came before this time.
        busiest: Only the window of this length with most requests.
        limit: Only the first so many requests (of the span).
        warmup: Cut off the front: "auto", requests, a share such as "5%", or what comes in a time
            such as "30s".
        seed: Seeds everything random.

    Raises:
        ConfigError: Both loads or none, or a setting of traces beside a workload. Names and values
            are checked when the scenario is run, or by `to_dict`.
    """

    trace: Files | None = None
    workload: Workload | None = None
    drive: str | None = None
    replay: Literal["open", "closed", "dependent"] | None = None
    depth: int | None = None
    refill: Literal["after", "before"] | None = None
    speed: float | None = None
    fit: Literal["none", "wrap", "scale", "truncate"] | None = None
    service_guess_us: float | None = None
    format: str | None = None
    device: str | None = None
    volumes: Literal["concat", "own-drives"] | None = None
    from_: str | None = None
    to: str | None = None
    busiest: str | None = None
    limit: int | None = None
    warmup: str | int = "auto"
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuses combinations that mean nothing."""
        for key in self._plain:
            value = getattr(self, key)
            # What is None by itself has the engine's default.
            if value is not None or self.__dataclass_fields__[key].default is not None:
                word(key, value)
        if (self.trace is None) == (self.workload is None):
            both = "missing" if self.trace is None else "both"
            raise config_error("load", both, "a trace or a workload")
        if not isinstance(self.workload, str | Mapping | None):
            allowed = "a word, or a mapping with `name` and knobs"
            raise config_error("workload", reprlib.repr(self.workload), allowed)
        if self.trace is not None:
            files = file_names(self.trace)
            object.__setattr__(self, "trace", files)
            format_of(files, self.format)
            return
        for key in _TRACE_SETTINGS:
            value = getattr(self, key)
            if value is not None:
                allowed = (
                    f"nothing beside a workload, whose knobs are set as {self.workload}:KNOB=VALUE"
                )
                raise config_error(key, value, allowed)

    @property
    def _plain(self) -> list[str]:
        """Settings that are words, numbers or flags."""
        fields = (one.name for one in dataclasses.fields(self))
        return [name for name in fields if name not in ("trace", "workload")]

    @property
    def files(self) -> tuple[str, ...]:
        """Files of the trace; none for a workload."""
        return () if self.trace is None else file_names(self.trace)

    def replace(self, **changes: object) -> Scenario:
        """The same with other settings."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def to_toml(self) -> str:
        """The scenario as the text of a file that ``nearslot run`` takes."""
        tables: dict[str, Any] = {
            "seed": self.seed,
            **({} if self.drive is None else {"drive": self.drive}),
            **self.parts,
            "warmup": self.warmup,
        }
        if self.workload is not None:
            word = self.workload
            tables["workload"] = dict(word) if isinstance(word, Mapping) else word
        else:
            given = {key: getattr(self, key) for key in _TRACE_SETTINGS}
            given["format"] = format_of(self.files, self.format)
            told = {
                key.removesuffix("_"): value for key, value in given.items() if value is not None
            }
            tables["trace"] = {"files": list(self.files), **told}
        try:
            toml = tomli_w.dumps(tables)
            toml.encode("utf-8")
        except (TypeError, ValueError) as error:
            # Only a workload that is a mapping may have what no file can.
            allowed = f"a mapping of words, numbers, lists and mappings ({error})"
            raise config_error("workload", reprlib.repr(self.workload), allowed) from error
        return toml

    def to_dict(self) -> dict[str, Any]:
        """The scenario as the engine reads it, every default spelled out.

        Raises:
            ConfigError: A key or value is not allowed.
        """
        found: dict[str, Any] = msgspec.json.decode(_native.scenario_json(self.to_toml(), ""))
        return found

    @classmethod
    def from_toml(cls, text: str, *, directory: str | os.PathLike[str] | None = None) -> Scenario:
        """Reads a scenario file's text.

        Args:
            text: TOML.
            directory: What relative paths of traces and drives are relative to.

        Raises:
            ConfigError: Not TOML, an unknown key (with the nearest valid one), or a value that is
                not allowed.
        """
        toml = arguments.text("text", text, "the text of a scenario file")
        if directory is not None:
            directory = arguments.path("directory", directory)
        # The engine's own reading finds the mistakes.
        read = _native.scenario_json(toml, directory or "")
        table = tomllib.loads(toml)
        settings = {key: value for key, value in table.items() if key != "trace"}
        for key in _PARTS:
            if isinstance(settings.get(key), Mapping):
                knobs = dict(settings[key])
                if key == "workload" and knobs.get("name") == "host":
                    # As it was read: processes have no word, and files are below the folder.
                    settings[key] = msgspec.json.decode(read)["load"][key]
                else:
                    settings[key] = part(knobs.pop("name"), **knobs)
        if settings.get("drive", "").endswith(".toml"):
            settings["drive"] = _below(directory, settings["drive"])
        if "trace" in table:
            trace = dict(table["trace"])
            settings["trace"] = [_below(directory, file) for file in trace.pop("files")]
            # `from` is a word of Python itself.
            settings.update({"from_" if key == "from" else key: trace[key] for key in trace})
        return cls(**settings)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file; paths in it are relative to its own folder.

        Raises:
            InputError: It cannot be read.
            ConfigError: As `from_toml`.
        """
        name = arguments.path("path", path)
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise InputError(f"{name}: {error}") from error
        return cls.from_toml(text, directory=Path(name).parent)


def file_names(files: Files) -> tuple[str, ...]:
    """The paths of files; a data frame is written to one.

    Raises:
        ConfigError: There is none, a name is no name, or a frame is no trace.
    """
    several = [files] if isinstance(files, str | os.PathLike | Frame) else files
    if not isinstance(several, Iterable):
        raise config_error("trace", reprlib.repr(files), "paths of files, or data frames")
    names = tuple(_file_name(file) for file in several)
    if not names:
        raise config_error("trace", "[]", "at least one file, or -")
    for name in names:
        # TOML and JSON, in which scenarios and results live, have no other names.
        if not name.isprintable() and not is_utf8(name):
            raise config_error("trace", repr(name), "a file name in UTF-8")
    return names


def _file_name(file: File) -> str:
    if isinstance(file, Frame):
        return FrameFile.of(file)
    if isinstance(file, str | os.PathLike):
        name = os.fspath(file)
        if isinstance(name, str) and is_file_name(name):
            return name
    raise config_error("trace", reprlib.repr(file), "paths of files, or data frames")


def format_of(files: Sequence[str], format: str | None) -> str | None:  # noqa: A002 (as there)
    """The format that was named; data frames have one of their own.

    Raises:
        ConfigError: Another format was named for a data frame.
    """
    frames = [file for file in files if isinstance(file, FrameFile)]
    if not frames:
        return format
    if format not in (None, "csv"):
        raise config_error("format", format, f"left out beside a {frames[0].frame}")
    if len(frames) < len(files):
        raise config_error("trace", "files beside data frames", "files, or data frames")
    return "csv"


def _below(directory: str | os.PathLike[str] | None, file: str) -> str:
    """The file seen from the folder; standard input stays what it is."""
    return file if directory is None or file == "-" else str(Path(directory) / file)
