"""Data frames as traces: pandas, polars, pyarrow, and whatever else speaks the Arrow C stream.

A frame is written, once, to a CSV file of our own, whose header is the frame's column names. So a
frame has the same names, units and messages as a CSV trace, and later changes of it do not matter.
The file lives as long as a scenario, or a call, that speaks of it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .errors import InputError, config_error

if TYPE_CHECKING:
    import pyarrow


@runtime_checkable
class Frame(Protocol):
    """A table that can be handed over by Arrow, such as a ``pandas.DataFrame``."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of its rows."""


class FrameFile(str):
    """The path of the file that a frame was written to.

    Attributes:
        frame: The kind of frame, such as ``pandas.DataFrame``.
    """

    frame: str

    @classmethod
    def of(cls, frame: Frame) -> FrameFile:
        """Writes a frame.

        Raises:
            ConfigError: pyarrow is missing, or a column has no name or holds what is no value of a
                trace.
        """
        kind = f"{type(frame).__module__.split('.')[0]}.{type(frame).__qualname__}"
        folder = tempfile.mkdtemp(prefix="nearslot-")
        made = cls(Path(folder) / kind)
        made.frame = kind
        # The folder goes away with the last object that speaks of it.
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        _write(frame, kind, Path(made))
        return made


def _write(frame: Frame, kind: str, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.csv

        table = pyarrow.table(frame)
    except ImportError as error:
        allowed = f"where pyarrow is installed: pip install 'nearslot[frames]' ({error})"
        raise config_error("trace", kind, allowed) from error
    except ValueError as error:
        raise config_error("trace", kind, f"a table of named columns ({error})") from error
    if table.num_rows == 0:
        raise config_error("trace", f"{kind} without rows", "a row for each request")
    columns = {}
    for number, name in enumerate(table.column_names):
        named, values = _column(pyarrow, name, table.column(number))
        if named in columns:
            raise config_error(f"column {named!r} of {kind}", "there twice", "each name once")
        columns[named] = values
    pyarrow.csv.write_csv(pyarrow.table(columns), path)


def _column(
    pyarrow: pyarrow, name: str, values: pyarrow.ChunkedArray
) -> tuple[str, pyarrow.ChunkedArray]:
    """A column as text can hold it: times in nanoseconds, words as plain text."""
    types, kind = pyarrow.types, values.type
    if types.is_timestamp(kind) or types.is_duration(kind):
        to = pyarrow.duration("ns") if types.is_duration(kind) else pyarrow.timestamp("ns")
        plain = re.sub(r"_(s|ms|us|ns)$", "", name)
        return f"{plain}_ns", values.cast(to).cast(pyarrow.int64())
    if types.is_dictionary(kind) or types.is_string_view(kind):
        return name, values.cast(pyarrow.string())
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise config_error(f"column {name!r}", str(kind), "numbers, words or times")
    return name, values


def told(error: InputError, files: Iterable[str]) -> InputError:
    """The same error, with frames in place of the files that they were written to."""
    text = str(error)
    for file in files:
        if isinstance(file, FrameFile):
            text = text.replace(str(file), f"the {file.frame}")
    return InputError(text)
