"""The kinds of parts that a stack is made of, as the engine's table has them.

Made by crates/cli/tests/it/docs. Write it anew with
NEARSLOT_BLESS=1 cargo test --workspace --test it docs::
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

Words: TypeAlias = str | Iterable[object]
"""One word, or several that make a grid."""

KINDS = (
    "sched",
    "merge",
    "oracle",
    "place",
    "cache",
    "prefetch",
    "buffer",
    "faults",
    "claims",
    "tier",
)
"""Keys of the kinds."""

PREPARED = ("place", "tier")
"""Kinds of which equal parts of several runs share what is costly to prepare."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A part of every kind.

    Attributes:
        sched: Which I/O goes next on the drive.
        merge: Which waiting I/Os become one command.
        oracle: What the scheduler knows of the drive.
        place: Where data lives.
        cache: Which lines of the volume stay in memory.
        prefetch: What is brought into the cache before it is asked for.
        buffer: What keeps writes until they go to the drives, and in which order they go.
        faults: What goes wrong on the drives.
        claims: What each stream may claim of the drives.
        tier: What stays in memory.
    """

    sched: str = "fcfs"
    merge: str = "none"
    oracle: str = "exact"
    place: str = "linear"
    cache: str = "none"
    prefetch: str = "none"
    buffer: str = "none"
    faults: str = "none"
    claims: str = "none"
    tier: str = "none"

    @property
    def parts(self) -> dict[str, str]:
        """The part of every kind, by the kind's key."""
        return {key: getattr(self, key) for key in KINDS}


class PartSettings(TypedDict, total=False):
    """Parts as keywords."""

    sched: Words
    merge: Words
    oracle: Words
    place: Words
    cache: Words
    prefetch: Words
    buffer: Words
    faults: Words
    claims: Words
    tier: Words
