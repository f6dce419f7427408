"""Rows of finished runs, each kept in a file of its own."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

from ..errors import InputError
from .files import replace_whole


class Rows:
    """Kept rows. A file has a checksum in hexadecimal, a line feed, and the row."""

    def __init__(self, folder: Path, keys: list[str]) -> None:
        """Reads the rows of these runs that are already kept."""
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
        """Whether a sweep wrote the file, and each of its runs is in this grid or kept."""
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
        """Keeps a row; a reader sees the whole file or none."""
        key = self._keys[point]
        whole = self._checksum(key, row).encode() + b"\n" + row
        try:
            self.folder.mkdir(exist_ok=True)
            replace_whole(self._path(key), lambda path: path.write_bytes(whole))
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
        # With the key, so that a row under the name of another run is refused.
        return hashlib.sha256(key.encode() + row).hexdigest()
