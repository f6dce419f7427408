"""Grids too long for one sitting or one machine: `nearslot.sweep`.

A sweep is a `compare` in pieces. The grid is cut into tasks, an executor runs them wherever it
likes, each run comes back as one row, and the row is put aside in a file of its own before anything
else happens. When all rows are there they become one Parquet file, in the order of the grid.

The idea is that a row depends on nothing but its run. So what a row says about the rest of a
comparison (rank, differences to others) and how long it took is left out; the rest is the same
whoever ran it, beside whatever else, and in whichever order runs were finished. A row's name is the
hash of everything that its run depends on, so a row that is there need not be made again.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, Unpack

from . import _native
from .errors import (
    CheckError,
    ConfigError,
    InputError,
    Interrupted,
    NearslotError,
    WorkerError,
    config_error,
)
from .frames import FrameFile
from .results import Results, pandas_of
from .running import check_reading, gridded, scenario_file, vary_words
from .scenario import Files, Reading, Scenario, Settings, word

if TYPE_CHECKING:
    import pandas
    import pyarrow

_P = ParamSpec("_P")
_T = TypeVar("_T")

# What the file says of the program.
_PROGRAM = {"nearslot.version": _native.__version__, "nearslot.build": _native.__build__}

# Of the rows put aside: another number when their columns change.
_LAYOUT = 3

# What a row says about its place in a comparison, and the time it took: not of the run itself.
_NOT_OF_THE_RUN = (
    "run",
    "rank",
    "ratio_to_best",
    *(
        f"against_{other}_{what}"
        for other in ("baseline", "best")
        for what in ("ms", "ci95_low_ms", "ci95_high_ms", "word")
    ),
    "runs_planned",
    "simulated_in_s",
)

# Keys that runs of one task have in common. The engine names only one seed and one fit for all runs
# of a call; what it prepares for several runs at once depends on drive, placement and seed.
_COMMON = ("seed", "fit", "drive", "place")

# Runs of a task when they share something that takes longer to prepare than a run.
_TOGETHER_MAX = 16

_EXECUTORS = (
    '"threads", "processes", a concurrent.futures executor, a distributed.Client, '
    "or a nearslot.RayExecutor"
)


class Client(Protocol):
    """What gives an executor when asked: a ``distributed.Client``."""

    def get_executor(self) -> Executor:
        """An executor that runs on the client's cluster."""


class RayExecutor(Executor):
    """Runs tasks on Ray, in the cluster that ``ray.init`` connected to, or in one of its own.

    Args:
        retries: How often a task is run again whose worker died.
    """

    def __init__(self, *, retries: int = 3) -> None:
        """Needs ``pip install nearslot[ray]``."""
        try:
            import ray
        except ImportError as error:
            raise config_error("executor", "RayExecutor", "pip install nearslot[ray]") from error
        self._remote: Any = ray.remote(max_retries=retries)(_call)

    def submit(self, task: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Starts a call; once begun it goes on to its end."""
        future: Future[_T] = self._remote.remote(task, *args, **kwargs).future()
        return future


class Swept:
    """The rows of a sweep, in the order of its grid.

    Goes into ``polars.DataFrame(x)``, ``pandas.DataFrame.from_arrow(x)`` and ``pyarrow.table(x)``.

    Attributes:
        path: The Parquet file; it is written when all runs are finished.
        table: The rows as a ``pyarrow.Table``: fewer than `runs_planned` after an interruption.
        runs_planned: Runs of the grid.
        reused: Runs of these that were finished before and not repeated.
    """

    def __init__(self, path: Path, table: pyarrow.Table, runs_planned: int, reused: int) -> None:
        """Made by `nearslot.sweep`."""
        self.path = path
        self.table = table
        self.runs_planned = runs_planned
        self.reused = reused

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A new Arrow C stream, one row a run."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a ``pandas.DataFrame``.

        Raises:
            ConfigError: pandas is not installed.
        """
        return pandas_of(self)

    def __len__(self) -> int:
        """Number of runs."""
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        """In one line."""
        counts = f"{len(self)} of {self.runs_planned} runs, {self.reused} of them from before"
        return f"<nearslot.Swept: {counts}, {os.fspath(self.path)!r}>"


def sweep(
    load: Scenario | Files | None = None,
    *,
    out: str | os.PathLike[str],
    vary: Mapping[str, Iterable[object]] | None = None,
    executor: str | Executor | Client = "threads",
    workers: int | None = None,
    runs_per_task: int | None = None,
    reading: Reading | None = None,
    progress: bool | Callable[[int, int], object] = False,
    force: bool = False,
    **settings: Unpack[Settings],
) -> Swept:
    """Runs every combination of some settings, anywhere, into one Parquet file.

    The file is the same, byte for byte, whichever executor ran it. Every run that is finished is
    kept in the folder ``<out>.parts``, so a sweep that was stopped goes on where it was when it is
    called again, and a grid that grew runs only what is new. The folder may be deleted at any time.

    Args:
        load: A scenario, a scenario file (``*.toml``), or files of a trace. Files have to be there
            for every worker, under the same name.
        out: The Parquet file.
        vary: As for `compare`.
        executor: What runs the tasks: ``"threads"`` or ``"processes"`` of this machine, any
            ``concurrent.futures`` executor, a ``distributed.Client``, or a `RayExecutor`. It is
            left open. With processes, a script needs ``if __name__ == "__main__":``.
        workers: How many threads or processes; one per core when left out.
        runs_per_task: Runs that one task does at most, which share what is prepared for them: the
            trace, the aged placement. When left out, 1 if there is nothing to share, else up to 16.
            It changes nothing but the time.
        reading: How the trace's files are read, where they leave it open.
        progress: Called with the runs finished and the runs planned; True for a bar on stderr if
            that is a terminal.
        force: Replace `out` if it exists. Without it, a file is replaced only if this sweep has all
            of its rows: then an earlier call wrote it, and nothing is lost. A file that the sweep
            reads is never replaced.
        settings: As for `compare`. A drive must be named.

    Raises:
        ConfigError: The scenario, a key, a value or the executor is wrong; `out` exists with other
            contents, or is read.
        InputError: The trace cannot be read or does not fit the drive; the file cannot be written.
        CheckError: Requests were lost, or a worker has another build of nearslot: a fault.
        WorkerError: Workers were lost. Finished runs are kept; call again to go on.
        Interrupted: Ctrl-C. Finished runs are kept, and are the exception's ``swept``. Runs that
            threads have under way end by themselves, and the program cannot end before.
    """
    path = Path(out)
    _arrow()
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder")
    if runs_per_task is not None and runs_per_task < 1:
        raise config_error("runs_per_task", runs_per_task, "a whole number from 1")
    grid = _Grid.of(load, vary, settings, reading or Reading())
    rows = _Rows(path.with_name(path.name + ".parts"), grid.keys)
    described = None if isinstance(load, Scenario) else scenario_file(load)
    inputs = [*grid.files, *([] if described is None else [described])]
    _native.check_output("out", os.fspath(path), inputs, force or rows.have_all_of(path))
    with _opened(executor, workers) as pool, _reporting(progress) as report:
        _run_missing(grid, rows, pool, grid.tasks(rows, runs_per_task), report, path)
    table = _table(grid, rows)
    _write(table, path, lambda: force or rows.have_all_of(path))
    return Swept(path, table, len(grid.keys), rows.reused)


@dataclass(frozen=True)
class _Task:
    """Some runs that one call into the engine does: a grid within the grid."""

    toml: str
    vary: list[tuple[str, list[str]]]
    reading: Reading
    points: list[int]
    code: str


@dataclass(frozen=True)
class _Grid:
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
    ) -> _Grid:
        scenario, given, varied = gridded(load, vary, settings)
        check_reading(scenario, reading)
        if "-" in scenario.files:
            raise config_error("trace", "-", "files, which every worker can read")
        for file in scenario.files:
            if isinstance(file, FrameFile):
                allowed = "files, which every worker can read: write the frame to one"
                raise config_error("trace", file.frame, allowed)
        # What can be gone through only once is needed twice; a word is no list of letters.
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
        placements = {scenario.place, *dict(words).get("place", [])}
        return cls(
            toml=scenario.to_toml(),
            values=[(key, list(several)) for key, several in values.items()],
            words=words,
            reading=reading,
            keys=_hashes(scenario, words, reading),
            shares=scenario.trace is not None or placements != {"linear"},
            files=[*scenario.files, *_drive_files(scenario, words)],
        )

    def tasks(self, rows: _Rows, runs_per_task: int | None) -> list[_Task]:
        """Pieces of the grid that hold all runs which are not there yet, and no others."""
        missing = rows.missing()
        together = min(_TOGETHER_MAX, -(-len(missing) // 16)) if self.shares else 1
        most = max(1, together) if runs_per_task is None else runs_per_task
        keys = [key for key, _ in self.words]
        common = [axis for axis, key in enumerate(keys) if key.split(".")[0] in _COMMON]
        shape = [len(several) for _, several in self.words]
        whole = [range(length) for length in shape]
        return [
            _Task(
                toml=self.toml,
                vary=self._words_in(piece),
                reading=self.reading,
                points=list(_points(piece, shape)),
                code=_code(),
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
    """Halves a box until each piece is wanted as a whole, small enough, and single in `common`."""
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
    """Runs of a box by their number in the grid, the last axis counting fastest."""
    for place in itertools.product(*box):
        number = 0
        for index, length in zip(place, shape, strict=True):
            number = number * length + index
        yield number


def _hashes(scenario: Scenario, words: list[tuple[str, list[str]]], reading: Reading) -> list[str]:
    """A hash for each run, of everything that decides what it finds."""
    base = json.loads(_native.scenario_json(scenario.to_toml(), ""))
    drives = _drives(base, words)
    shared = {
        "layout": _LAYOUT,
        "code": _code(),
        "scenario": base,
        "reading": asdict(reading),
        "trace": [_digest(file) for file in scenario.files],
        "drives": {drive: _drive_digest(drive) for drive in sorted(drives)},
    }
    keys = [key for key, _ in words]
    hashes = []
    for combination in itertools.product(*(several for _, several in words)):
        told = {**shared, "vary": list(zip(keys, combination, strict=True))}
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        hashes.append(hashlib.sha256(text.encode()).hexdigest())
    return hashes


def _code() -> str:
    """What tells the engine's code from any other: its commit, or else the compiled module itself.

    A version stays the same for many commits, and a commit for many changes that are not committed.
    """
    if _native.is_committed:
        return _native.__build__
    return f"{_native.__build__} {_module_digest()}"


@functools.cache
def _module_digest() -> str:
    file = _native.__file__
    assert file is not None, "an extension module is a file"
    return _digest(file)


def _digest(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{file}: {error}") from error


def _check_drive(scenario: Scenario, words: list[tuple[str, list[str]]]) -> None:
    """Refuses a drive that is to be chosen: pieces of a grid would not choose the same."""
    named = dict(words).get("drive", [scenario.drive or "auto"])
    if any(drive.split(":")[0] == "auto" for drive in named):
        allowed = "a drive that is named, as every piece of a sweep would choose one for itself"
        raise config_error("drive", "none named", allowed)


def _drives(base: dict[str, Any], words: list[tuple[str, list[str]]]) -> set[str]:
    """The drives of a grid, as they are named."""
    varied = (one for key, several in words if key == "drive" for one in several)
    return {base["drive"]["name"], *varied}


def _drive_files(scenario: Scenario, words: list[tuple[str, list[str]]]) -> list[str]:
    base = json.loads(_native.scenario_json(scenario.to_toml(), ""))
    names = sorted(drive.split(":")[0] for drive in _drives(base, words))
    return [name for name in names if _is_file(name)]


def _is_file(name: str) -> bool:
    return name.endswith(".toml") or "/" in name


def _drive_digest(drive: str) -> str | None:
    """Of a drive's file; None for a name of the catalog, which is part of the code."""
    name = drive.split(":")[0]
    return _digest(name) if _is_file(name) else None


def _call(task: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    return task(*args, **kwargs)


def _run_task(task: _Task) -> list[bytes] | NearslotError:
    """Does the runs of a task; this is what workers do. A row each, as an Arrow stream.

    What is wrong with a run is handed back, not raised: executors wrap what is raised.
    """
    try:
        _check_code(task)
        outcome, raised = _native.simulate(
            task.toml,
            directory="",
            inputs=[],
            frames=[],
            # The grid as a whole has been checked against them.
            given=[],
            vary=task.vary,
            baseline=None,
            # A sweep is done to its end, whatever some of its runs are like.
            overload="run",
            piece=True,
            reading=task.reading,
            jobs=1,
            series=False,
            requests=False,
            commands=False,
        )
        if raised is not None:
            raise raised
        assert outcome is not None, "a call that no signal ended has an outcome"
        return _rows_of(Results(outcome))
    except NearslotError as error:
        return error


def _check_code(task: _Task) -> None:
    """Refuses to run with other code than the sweep keeps rows of."""
    if _code() != task.code:
        there = f"a worker has nearslot of build {_code()}, the sweep is of build {task.code}"
        raise CheckError(f"{there}: a sweep is of one build")


def _rows_of(results: Results) -> list[bytes]:
    arrow = _arrow()
    table = arrow.table(results).drop_columns(list(_NOT_OF_THE_RUN))
    labels = [run.label for run in results.runs]
    own = [json.dumps(_warnings_of(label, labels, results.warnings)) for label in labels]
    at = table.schema.get_field_index("warnings")
    table = table.set_column(at, table.schema.field(at), arrow.array(own, arrow.string()))
    return [_packed(table.slice(index, 1)) for index in range(table.num_rows)]


def _warnings_of(label: str, labels: list[str], told: list[str]) -> list[str]:
    """Those about all runs and those about this one."""
    others = tuple(f"{other}: " for other in labels if other != label)
    return [text for text in told if not text.startswith(others)]


def _packed(table: pyarrow.Table) -> bytes:
    arrow = _arrow()
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _unpacked(row: bytes) -> pyarrow.Table:
    return _arrow().ipc.open_stream(row).read_all()


class _Rows:
    """The rows put aside, a file for each: its checksum in hexadecimal, a line's end, the row."""

    def __init__(self, folder: Path, keys: list[str]) -> None:
        self.folder = folder
        self._keys = keys
        self._rows: dict[int, bytes] = {}
        for point, key in enumerate(keys):
            row = self._read(key)
            if row is not None:
                self._rows[point] = row
        self.reused = len(self._rows)

    def missing(self) -> list[int]:
        """Runs that are not finished."""
        return [point for point in range(len(self._keys)) if point not in self._rows]

    def finished(self) -> list[tuple[int, bytes]]:
        """Rows in the order of the grid."""
        return sorted(self._rows.items())

    def have_all_of(self, path: Path) -> bool:
        """Whether a file is of a sweep, and each of its runs is of this one or put aside."""
        from pyarrow import lib, parquet

        if not path.is_file():
            return False
        try:
            table = parquet.read_table(path, columns=["scenario_hash"])
        except (lib.ArrowException, OSError):
            return False
        if table.column_names != ["scenario_hash"]:
            return False
        known = set(self._keys)
        return all(key in known or self._path(key).is_file() for key in table[0].to_pylist())

    def keep(self, point: int, row: bytes) -> None:
        """Puts a row aside; whoever looks sees all of the file or none."""
        key = self._keys[point]
        whole = self._checksum(key, row).encode() + b"\n" + row
        try:
            self.folder.mkdir(exist_ok=True)
            _replace(self._path(key), lambda path: path.write_bytes(whole))
        except OSError as error:
            raise InputError(f"{self._path(key)}: {error}") from error
        self._rows[point] = row

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            checksum, _, row = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path}: {error}") from error
        if checksum.decode("ascii", "replace") == self._checksum(key, row):
            return row
        warnings.warn(f"{path} is damaged: its run is done again", RuntimeWarning, stacklevel=4)
        return None

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.part"

    @staticmethod
    def _checksum(key: str, row: bytes) -> str:
        # With the key: a row under another's name is not that run's.
        return hashlib.sha256(key.encode() + row).hexdigest()


class _WorkerFailedError(Exception):
    """An executor did not bring a task to its end."""


def _run_missing(
    grid: _Grid,
    rows: _Rows,
    pool: Executor,
    tasks: list[_Task],
    report: Callable[[int, int], object],
    path: Path,
) -> None:
    """Runs the tasks and keeps their rows as they come."""
    planned, futures = len(grid.keys), dict[Future[Any], _Task]()

    def stopped() -> str:
        _keep_finished(futures, rows)
        kept = f"{planned - len(rows.missing())} of {planned} runs are finished and kept"
        return f"{kept} in {rows.folder}; call sweep again to go on"

    try:
        report(rows.reused, planned)
        _submit(pool, tasks, futures)
        for future in concurrent.futures.as_completed(list(futures)):
            _keep(future, futures.pop(future), rows)
            report(planned - len(rows.missing()), planned)
    except KeyboardInterrupt as error:
        told = f"interrupted: {stopped()}"
        swept = Swept(path, _table(grid, rows), planned, rows.reused)
        raise Interrupted(told, swept=swept) from error
    except _WorkerFailedError as error:
        why = f"{type(error.__cause__).__name__}: {error.__cause__}"
        raise WorkerError(f"a worker failed ({why}): {stopped()}") from error.__cause__
    except Exception as error:
        error.add_note(stopped())
        raise


def _submit(pool: Executor, tasks: list[_Task], futures: dict[Future[Any], _Task]) -> None:
    for task in tasks:
        try:
            future = pool.submit(_run_task, task)
        except Exception as error:
            raise _WorkerFailedError from error
        futures[future] = task


def _keep(future: Future[Any], task: _Task, rows: _Rows) -> None:
    """Puts aside what a task brought."""
    try:
        found = future.result()
    except Exception as error:
        raise _WorkerFailedError from error
    if isinstance(found, NearslotError):
        raise found
    for point, row in zip(task.points, found, strict=True):
        rows.keep(point, row)


def _keep_finished(futures: dict[Future[Any], _Task], rows: _Rows) -> None:
    """Begins no more, and keeps what was finished but not yet looked at."""
    for future, task in futures.items():
        if not future.done():
            future.cancel()
        elif not future.cancelled():
            # What else is wrong is told when it is met again.
            with contextlib.suppress(_WorkerFailedError, NearslotError, KeyboardInterrupt):
                _keep(future, task, rows)


def _table(grid: _Grid, rows: _Rows) -> pyarrow.Table:
    """The rows with their place in the grid and their settings in front."""
    arrow = _arrow()
    finished = rows.finished()
    points = [point for point, _ in finished]
    columns = {"run": arrow.array(points, arrow.uint64())}
    step = len(grid.keys)
    for key, several in grid.values:
        step //= len(several)
        taken = [several[point // step % len(several)] for point in points]
        columns[f"vary.{key}"] = arrow.array(*_typed(key, several, taken))
    if finished:
        try:
            found = arrow.concat_tables([_unpacked(row) for _, row in finished]).combine_chunks()
        except arrow.ArrowInvalid as error:
            raise InputError(
                f"{rows.folder} has runs with other columns: delete the folder"
            ) from error
        columns.update(zip(found.column_names, found.columns, strict=True))
    columns["scenario_hash"] = arrow.array([grid.keys[point] for point in points], arrow.string())
    table = arrow.table(columns)
    return table.replace_schema_metadata(_PROGRAM)


def _typed(key: str, several: list[Any], taken: list[Any]) -> tuple[list[Any], pyarrow.DataType]:
    """Values of a setting as the narrowest type that all values of the grid have."""
    arrow = _arrow()
    if all(isinstance(value, bool) for value in several):
        return taken, arrow.bool_()
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in several
    )
    if numbers and all(isinstance(value, float) or abs(value) < 1 << 53 for value in several):
        whole = all(isinstance(value, int) for value in several)
        return taken, arrow.int64() if whole else arrow.float64()
    return [word(f"vary {key}", value) for value in taken], arrow.string()


def _write(table: pyarrow.Table, path: Path, may_replace: Callable[[], bool]) -> None:
    _arrow()
    from pyarrow import parquet

    def write(beside: Path) -> None:
        parquet.write_table(table, beside, compression="zstd")
        try:
            _take_name(beside, path)
        except FileExistsError:
            if not may_replace():
                raise

    try:
        _replace(path, write)
    except OSError as error:
        raise InputError(f"{path}: {error}") from error


def _take_name(beside: Path, path: Path) -> None:
    """Takes a name for a file, or fails if there is one of that name."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        path.touch(exist_ok=False)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under another name and renames it, so that it is never there in part."""
    beside = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        write(beside)
        with beside.open("rb") as stream:
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(executor: str | Executor | Client, workers: int | None) -> Iterator[Executor]:
    """The executor; one that is made here ends here, without waiting if something went wrong."""
    if workers is not None and not isinstance(executor, str):
        raise config_error("workers", workers, "nothing beside an executor of your own")
    if workers is not None and workers < 1:
        raise config_error("workers", workers, "a whole number from 1")
    if isinstance(executor, Executor):
        yield executor
        return
    if executor == "threads":
        own: Executor = ThreadPoolExecutor(workers or os.cpu_count())
    elif executor == "processes":
        # A copy of a process that has threads may never wake up: each begins anew.
        own = ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), initializer=_end_at_ctrl_c
        )
    elif not isinstance(executor, str) and hasattr(executor, "get_executor"):
        own = executor.get_executor()
    else:
        raise config_error("executor", repr(executor), _EXECUTORS)
    try:
        yield own
    except BaseException:
        own.shutdown(wait=False)
        raise
    own.shutdown()


def _end_at_ctrl_c() -> None:
    """Ctrl-C reaches every process of a terminal; the first one says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def _reporting(
    progress: bool | Callable[[int, int], object],
) -> Iterator[Callable[[int, int], object]]:
    """What is called with the numbers of runs finished and planned."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress or not sys.stderr.isatty():
        yield lambda finished, planned: None
    else:
        began, before = time.monotonic(), list[int]()

        def draw(finished: int, planned: int) -> None:
            before.append(finished)
            full = 30 * finished // max(1, planned)
            fresh = finished - before[0]
            left_s = (time.monotonic() - began) / fresh * (planned - finished) if fresh else 0.0
            bar = "█" * full + "░" * (30 - full)
            told = f"\r{bar} {finished}/{planned} runs  ETA {left_s:.0f}s\x1b[K"
            print(told, end="", file=sys.stderr, flush=True)

        try:
            yield draw
        finally:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _arrow() -> ModuleType:
    """Pyarrow, which this module alone needs."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        told = "nearslot.sweep needs pyarrow: pip install 'nearslot[sweep]'"
        raise ConfigError(told, "pyarrow", allowed="an installed pyarrow") from error
    module: ModuleType = pyarrow
    return module
