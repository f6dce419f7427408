"""Synthetic mixes of what caches meet: popular pages, sequences, scans, loops and writes.

Each is written as a trace, so that a cache may be a share of what it asks for. A mix is drawn from
its name and a seed alone: pages of 4 KiB, places apart for each part of it.
"""

from __future__ import annotations

import bisect
import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

RATE_RPS = 100.0
SECTORS = 8
# Pages of a part; parts lie that far from each other, within the first 20 GB of a drive.
REGION = 1 << 19
POPULAR = 24_576
RUN = 8

# A page, how many from there on, and whether it is read.
Asked = tuple[int, int, bool]


class Zipf:
    """Pages of which some are asked for far more often than others, strewn over their region."""

    def __init__(self, draw: random.Random, pages: int, exponent: float, start: int) -> None:
        """So many pages, from a place on."""
        weights = (1 / rank**exponent for rank in range(1, pages + 1))
        self.sums = list(itertools.accumulate(weights))
        self.places = list(range(pages))
        draw.shuffle(self.places)
        self.draw, self.start = draw, start

    def page(self, turn: int = 0) -> int:
        """One of them; another `turn` makes others popular."""
        rank = bisect.bisect(self.sums, self.draw.random() * self.sums[-1])
        rank = min(rank, len(self.places) - 1)
        return self.start + self.places[(rank + turn) % len(self.places)]


def streams(draw: random.Random, count: int, run: int, start: int) -> Iterator[Asked]:
    """Sequential reads by some who take turns at random, each elsewhere after a run of pages."""
    room = 1 << 17
    at = [(start + draw.randrange(room // RUN) * RUN, draw.randrange(run)) for _ in range(count)]
    while True:
        who = draw.randrange(count)
        page, done = at[who]
        yield page, RUN, True
        at[who] = page + RUN, done + RUN
        if done + RUN >= run:
            at[who] = start + draw.randrange(room // RUN) * RUN, 0


def zipf_streams(draw: random.Random) -> Iterator[Asked]:
    """Popular pages, some of them written, beside six sequences of 16 MiB."""
    popular = Zipf(draw, POPULAR, 0.9, 0)
    sequential = streams(draw, 6, 4_096, REGION)
    while True:
        if draw.random() < 0.3:
            yield next(sequential)
        else:
            yield popular.page(), 1, draw.random() < 0.85


def many_streams(draw: random.Random) -> Iterator[Asked]:
    """Forty slow sequences, and a few popular pages, some of them written."""
    popular = Zipf(draw, POPULAR, 0.9, 0)
    sequential = streams(draw, 40, 1_024, REGION)
    while True:
        if draw.random() < 0.75:
            yield next(sequential)
        else:
            yield popular.page(), 1, draw.random() < 0.7


def scans(draw: random.Random) -> Iterator[Asked]:
    """Popular pages, and now and then a scan of 40 MiB in large requests, never the same."""
    popular = Zipf(draw, POPULAR, 1.0, 0)
    scan = REGION
    while True:
        for _ in range(2_500):
            yield popular.page(), 1, draw.random() < 0.8
        for step in range(1_280):
            if step % 2:
                yield popular.page(), 1, True
            else:
                yield scan, 16, True
                scan += 16


def once(draw: random.Random) -> Iterator[Asked]:
    """Popular pages, and as many single ones that nobody asks for again."""
    popular = Zipf(draw, POPULAR, 0.9, 0)
    while True:
        if draw.random() < 0.5:
            yield popular.page(), 1, True
        else:
            yield REGION + draw.randrange(1 << 19), 1, draw.random() < 0.8


def loop(draw: random.Random) -> Iterator[Asked]:
    """A loop over 8,192 pages in no order, beside popular ones."""
    popular = Zipf(draw, POPULAR, 0.8, 0)
    round_ = list(range(0, 16_384, 2))
    draw.shuffle(round_)
    for page in itertools.cycle(round_):
        while draw.random() < 0.4:
            yield popular.page(), 1, draw.random() < 0.9
        yield REGION + page, 1, True


def sequential_loop(draw: random.Random) -> Iterator[Asked]:
    """A file of 64 MiB read in order over and over, beside popular pages."""
    popular = Zipf(draw, POPULAR, 0.9, 0)
    for page in itertools.cycle(range(0, 16_384, RUN)):
        while draw.random() < 0.6:
            yield popular.page(), 1, draw.random() < 0.9
        yield REGION + page, RUN, True


def shifting(draw: random.Random) -> Iterator[Asked]:
    """What is popular changes every 6,000 requests; three sequences beside."""
    popular = Zipf(draw, POPULAR, 1.0, 0)
    sequential = streams(draw, 3, 2_048, REGION)
    for number in itertools.count():
        if draw.random() < 0.15:
            yield next(sequential)
        else:
            yield popular.page(number // 6_000 * 3_001), 1, draw.random() < 0.75


def writing(draw: random.Random) -> Iterator[Asked]:
    """Mostly writes: a log, popular pages of their own, and reads half of which follow these."""
    written, read = Zipf(draw, POPULAR, 0.8, 0), Zipf(draw, POPULAR, 0.9, REGION)
    log = 2 * REGION
    while True:
        which = draw.random()
        if which < 0.2:
            yield log, 4, False
            log += 4
        elif which < 0.6:
            yield written.page(), 1, False
        elif which < 0.8:
            yield written.page(), 1, True
        else:
            yield read.page(), 1, True


_MIXES: dict[str, Callable[[random.Random], Iterator[Asked]]] = {
    one.__name__: one
    for one in (
        zipf_streams,
        many_streams,
        scans,
        once,
        loop,
        sequential_loop,
        shifting,
        writing,
    )
}
NAMES = tuple(_MIXES)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="nearslot-mixes-")


@cache
def made(mix: str, seed: int, requests: int) -> Path:
    """A file with a mix, its requests coming at random times."""
    draw = random.Random(f"{mix} {seed}")
    lines, now = ["time_us,dev,lba,blocks,op"], 0.0
    for page, pages, is_read in itertools.islice(_MIXES[mix](draw), requests):
        now += draw.expovariate(RATE_RPS) * 1e6
        op = "R" if is_read else "W"
        lines.append(f"{int(now)},0,{page * SECTORS},{pages * SECTORS},{op}")
    path = Path(_folder().name) / f"{mix}-{seed}-{requests}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
