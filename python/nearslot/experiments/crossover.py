"""From which overhead on a claim holds that does not hold without any.

What decides a claim does not change evenly with the overhead of a request: it goes in steps of the
time in which a slot passes the heads, and it stops where a scheduler has become the best. A line
between two measured overheads meets the limit in the wrong place (D3 at 0.27 ms, where runs between
say 0.15), so the crossover is bisected.

A probe has one seed and half of the requests, but the whole grid and slots as aged as ever. Less
was tried: slots aged half as long, or a quarter of the requests, put FreeBW-SATF 3 % higher, since
the writes that it starves have not filled the queue yet, and moved crossovers by 0.05 ms; a coarser
grid misses the point that decides. Aging is most of a probe's time, so claims that are still open
share the probes, and all probes of a round are one grid. The answer is two overheads: at one the
claim was not yet found to hold, at the other it was. Near the limit one seed can be off by a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeVar

_Found = TypeVar("_Found")


def crossovers(
    holds: Mapping[str, Callable[[_Found], bool | None]],
    measured: Mapping[float, _Found],
    probe: Callable[[list[float]], Mapping[float, _Found]],
    step: float,
) -> dict[str, tuple[float, float]]:
    """Where claims begin to hold.

    Args:
        holds: Each claim's verdict on what was found at an overhead.
        measured: What was found at some overheads.
        probe: Finds it at others, less surely.
        step: How near the two overheads of an answer have to be.

    Returns:
        For each claim that holds at the highest measured overhead and not at the lowest, the
        overhead at which it does not hold yet and the one from which on it does. One that comes and
        goes between measured overheads is not told from one that comes once.
    """
    known = dict(measured)
    between = {}
    for name, verdict in holds.items():
        verdicts = {at: verdict(found) for at, found in sorted(measured.items())}
        if verdicts[max(verdicts)] is True and verdicts[min(verdicts)] is False:
            below = max(at for at, held in verdicts.items() if held is not True)
            between[name] = (below, min(at for at in verdicts if at > below))
    while True:
        middles = {
            name: _middle(below, above, step)
            for name, (below, above) in between.items()
            if _steps(below, above, step) > 1
        }
        if not middles:
            return between
        known.update(probe(sorted(set(middles.values()) - set(known))))
        for name, middle in middles.items():
            below, above = between[name]
            held = holds[name](known[middle])
            between[name] = (below, middle) if held else (middle, above)


def _steps(below: float, above: float, step: float) -> int:
    """Parts of at most a step; a step that fits but for rounding fits."""
    return math.ceil((above - below) / step - 1e-6)


def _middle(below: float, above: float, step: float) -> float:
    """The border of parts that is nearest to the middle: a number that can be read."""
    steps = _steps(below, above, step)
    return round(below + (above - below) * (steps // 2) / steps, 6)
