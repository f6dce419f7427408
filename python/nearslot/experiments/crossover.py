"""Finds the overhead of a request at which a claim turns: it leans one way below, another above.

What decides a claim does not change evenly with the overhead of a request: it goes in steps of the
time in which a slot passes the heads, and it stops where a scheduler has become the best. A line
between two measured overheads meets the limit in the wrong place (D3 at 0.27 ms, where runs between
say 0.15), so the crossover is bisected.

A probe has one seed and half of the requests, but all that decides the claim and slots as aged as
ever. Less was tried: slots aged half as long, or a quarter of the requests, put FreeBW-SATF 3 %
higher, since the writes that it starves have not filled the queue yet, and moved crossovers by
0.05 ms; a coarser grid misses the point that decides. Claims that are still open share the probes.
The answer is two overheads: at one the claim still leaned as at the lowest overhead, at the other
as at the highest. Near the limit one seed can be off by a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """The two overheads between which a claim turns, and whether it holds above them."""

    below: float
    above: float
    holds_above: bool

    def told(self, requests: int) -> str:
        """In words."""
        side, other = ("holds", "not yet") if self.holds_above else ("no longer holds", "still")
        how = f"bisected with one seed of {requests:,} requests"
        return f"crossover: {side} from {self.above:g} ms, {other} at {self.below:g} ms ({how})"


Leans = Mapping[float, bool | None]
"""To which side a claim leans, by overhead."""
Probe = Callable[[Mapping[float, Sequence[str]]], Mapping[float, Mapping[str, bool | None]]]
"""Where some claims lean at some overheads."""


def crossovers(leans: Mapping[str, Leans], probe: Probe, step: float) -> dict[str, Turn]:
    """Where claims turn.

    Args:
        leans: To which side each claim leans at the measured overheads.
        probe: Finds it at others, less surely.
        step: How near the two overheads of an answer have to be.

    Returns:
        A turn for each claim that leans one way at the lowest measured overhead and the other way
        at the highest. One that turns several times has the last of its turns between measured
        overheads bisected.
    """
    turns = {name: _measured(of) for name, of in leans.items()}
    open_turns = {name: turn for name, turn in turns.items() if turn is not None}
    while True:
        middles = {
            name: _middle(turn.below, turn.above, step)
            for name, turn in open_turns.items()
            if _steps(turn.below, turn.above, step) > 1
        }
        if not middles:
            return open_turns
        wanted: dict[float, list[str]] = {}
        for name, middle in middles.items():
            wanted.setdefault(middle, []).append(name)
        found = probe(wanted)
        for name, middle in middles.items():
            turn = open_turns[name]
            if found[middle][name] is turn.holds_above:
                open_turns[name] = Turn(turn.below, middle, turn.holds_above)
            else:
                open_turns[name] = Turn(middle, turn.above, turn.holds_above)


def _measured(leans: Leans) -> Turn | None:
    """The measured overheads between which a claim turns for the last time."""
    at = sorted(leans)
    if len(at) < 2 or {leans[at[0]], leans[at[-1]]} != {True, False}:
        return None
    last = leans[at[-1]]
    below = max(overhead for overhead in at if leans[overhead] is not last)
    return Turn(below, min(overhead for overhead in at if overhead > below), last is True)


def _steps(below: float, above: float, step: float) -> int:
    """Number of parts of at most one step each; a rounding error does not make one more."""
    return math.ceil((above - below) / step - 1e-6)


def _middle(below: float, above: float, step: float) -> float:
    """The boundary of parts that is nearest to the middle: it is a round number."""
    steps = _steps(below, above, step)
    return round(below + (above - below) * (steps // 2) / steps, 6)
