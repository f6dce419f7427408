"""The rows of a sweep in the order of its grid: a table, and a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..errors import InputError
from ..results import pandas_of
from ..scenario import word
from .arrow import arrow_module
from .files import replace_whole, take_name
from .grid import Grid
from .rows import Rows

if TYPE_CHECKING:
    import pandas
    import pyarrow

# Names of the program in the file's metadata.
_PROGRAM = {"nearslot.version": _native.__version__, "nearslot.build": _native.__build__}


def table_of(grid: Grid, rows: Rows) -> pyarrow.Table:
    """The rows with their place in the grid and their settings in front."""
    arrow = arrow_module()
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
    arrow = arrow_module()
    if all(isinstance(value, bool) for value in several):
        return taken, arrow.bool_()
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in several
    )
    if numbers and all(isinstance(value, float) or abs(value) < 1 << 53 for value in several):
        whole = all(isinstance(value, int) for value in several)
        return taken, arrow.int64() if whole else arrow.float64()
    return [word(f"vary {key}", value) for value in taken], arrow.string()


def _unpacked(row: bytes) -> pyarrow.Table:
    return arrow_module().ipc.open_stream(row).read_all()


def write(table: pyarrow.Table, path: Path, may_replace: Callable[[], bool]) -> None:
    """Writes a table as Parquet; a file of that name is replaced only if it may be."""
    arrow_module()
    from pyarrow import parquet

    def write(beside: Path) -> None:
        parquet.write_table(table, beside, compression="zstd")
        try:
            take_name(beside, path)
        except FileExistsError:
            if not may_replace():
                raise

    try:
        replace_whole(path, write)
    except OSError as error:
        raise InputError(f"{path}: {error}") from error


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
