"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path


def take_name(beside: Path, path: Path) -> None:
    """Takes a name for a file, or fails if there is one of that name."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        path.touch(exist_ok=False)


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under another name and renames it, so that it is never there in part."""
    beside = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        write(beside)
        with beside.open("rb") as stream:
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
