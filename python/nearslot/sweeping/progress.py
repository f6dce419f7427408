"""Reports how far a sweep is, to a function or as a bar on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def reporting(
    progress: bool | Callable[[int, int], object],
) -> Iterator[Callable[[int, int], object]]:
    """A function that is called with the numbers of finished and of planned runs."""
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
