"""Files that are complete as soon as they have their name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path


def take_name(beside: Path, path: Path) -> None:
    """Gives a file a second name; fails if a file has that name."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:
        # This file system has no hard links.
        path.touch(exist_ok=False)


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under another name and renames it, so that nobody sees a part of it."""
    beside = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        write(beside)
        with beside.open("rb") as stream:
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
