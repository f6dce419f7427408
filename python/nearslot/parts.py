"""What there is to choose from, as the parts present themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from . import _native
from .arguments import maybe, text


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A thing that can be set.

    Attributes:
        default: Its value when nothing is said.
        allowed: What is allowed, in words; `range` (least, most) or `options` for programs.
        help: What it does.
    """

    name: str
    default: bool | int | float | str
    allowed: str
    help: str
    range: tuple[float, float] | None = None
    options: list[bool | str] | None = None


@dataclass(frozen=True, kw_only=True)
class Count:
    """What a part counts of a run.

    Attributes:
        unit: What it counts, or its unit.
        help: What it says, in a line.
    """

    name: str
    unit: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """A scheduler, drive, oracle, placement, workload or trace format.

    Attributes:
        aliases: Other names it answers to.
        summary: What it does, in a line.
        source: Where it comes from.
        promises: What is found after a power cut; empty where that is not up to it.
        measures: What it counts, in `Run.measures`.
        text: What else there is, such as a drive's parameter file.
    """

    name: str
    aliases: list[str]
    summary: str
    source: str
    promises: str
    knobs: list[Knob]
    measures: list[Count]
    text: str | None
    kind: str = ""


# Made at import, for the reason given in results.py.
_PART = msgspec.json.Decoder(Part)
_PARTS = msgspec.json.Decoder(dict[str, list[Part]])


def list_parts(kind: str | None = None) -> list[Part]:
    """All parts of a kind, or of all kinds (`Part.kind` says which).

    Args:
        kind: schedulers, drives, drive-kinds, oracles, placements, workloads or formats; all of
            them when left out.

    Raises:
        ConfigError: There is no such kind; it names the nearest.
    """
    kinds = _PARTS.decode(_native.list_json(maybe(text, "kind", kind)))
    return [replace(part, kind=kind) for kind, parts in kinds.items() for part in parts]


def show(name: str) -> Part:
    """One part, by its name or an alias.

    Raises:
        ConfigError: There is no such part; it names the nearest.
    """
    return _PART.decode(_native.show_json(text("name", name)))
