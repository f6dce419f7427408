"""What caches would miss of a trace, typed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from . import _native, arguments
from .arguments import flag, maybe, text, texts, whole
from .errors import config_error
from .opening import Opening
from .scenario import Files, Reading
from .warning import Warning  # noqa: A004 (the engine's word for it)


@dataclass(frozen=True, kw_only=True)
class CacheMisses:
    """What one cache of one size missed.

    Attributes:
        cache: Name and settings of the cache.
        size: The size as it was asked for.
        lines: Lines that it holds.
        share: Of all lines that the trace asks for.
        misses: Lines that were asked for and not there.
        miss_ratio: Of all that were asked for.
        knows_future: Whether it knows what will be asked for, as no cache that is used does.
        off_by: How far the ratio of a sample may be off, at 95 % or more; None if all lines were
            looked at.
        missed_requests: Requests of which a page was missed; None if they were not counted.
        request_miss_ratio: Of all requests.
    """

    cache: str
    size: str
    lines: int
    share: float
    misses: int
    miss_ratio: float
    knows_future: bool
    off_by: float | None
    missed_requests: int | None
    request_miss_ratio: float | None


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What was looked at: the share of lines that was to be drawn, with what, and how many were."""

    share: float
    seed: int
    lines: int


@dataclass(frozen=True, kw_only=True)
class HitRates:
    """Miss ratios of a trace; the same data as ``nearslot hitrate --format json``.

    Attributes:
        headline: What the numbers say.
        unit: ``request``, or the bytes of a ``page``.
        which: ``all`` or ``reads``.
        sample: What was looked at; None if it was all of the lines.
        requests: Reads and writes that count.
        asked: Lines that they ask for.
        footprint: Different lines among these.
        complete: Whether nothing was left out for an interruption.
        rows: One for each cache and size; ``polars.DataFrame(found.rows)`` makes a table.
    """

    schema: int
    version: str
    build: str
    headline: str
    files: list[str]
    format: str
    unit: str | dict[str, int]
    which: str
    sample: Sampled | None
    requests: int
    asked: int
    footprint: int
    complete: bool
    warnings: list[Warning]
    rows: list[CacheMisses]

    def __str__(self) -> str:
        """The headline."""
        return self.headline

    def to_html(self, path: str | Path, *, force: bool = False) -> None:
        """Writes a self-contained page with a curve for each cache.

        Args:
            path: Where to.
            force: Replace the file if it is there.

        Raises:
            ConfigError: There is a file.
            InputError: It cannot be written.
        """
        _native.hitrate_html(
            msgspec.json.encode(self).decode(),
            path=arguments.path("path", path),
            force=arguments.flag("force", force),
        )


# Made at import, for the reason given in results.py.
_HIT_RATES = msgspec.json.Decoder(HitRates)

_SIZE = 'words with a unit, as "1%", "512MiB" or "1000lines"'


def _unit(unit: object) -> str:
    return text("unit", unit) if isinstance(unit, str) else str(whole("unit", unit, least=1))


def _sample(key: str, value: object) -> str:
    return text(key, value, 'a share of the lines as a word, as "1%"')


def hitrate(
    trace: Files,
    *,
    cache: str | Sequence[str] = ("lru", "arc", "sieve", "s3_fifo", "optimal"),
    size: str | Sequence[str] | None = None,
    unit: int | Literal["request"] = 4096,
    count: Literal["all", "reads"] = "all",
    sample: str | None = None,
    seed: int | None = None,
    per_request: bool = False,
    format: str | None = None,  # noqa: A002 (as the command calls it)
    device: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    busiest: str | None = None,
    limit: int | None = None,
    reading: Reading | None = None,
) -> HitRates:
    """Says what caches would miss of a trace, whatever a miss costs.

    Args:
        trace: A file, several that are one trace, or data frames; ``-`` is standard input.
        cache: Caches: names or ``name:knob=value``.
        size: Sizes: shares of what the trace asks for, bytes or lines, as ``"1%"``, ``"512MiB"``,
            ``"1000lines"``. If none is given, those of 0.1, 1 and 10 % that are large enough.
        unit: What is cached as one: pages of so many bytes, or requests by their first byte.
        count: Which requests count.
        sample: Look at a share of the lines, with all their requests: ``"1%"``.
        seed: Draws the sample; another one draws other lines.
        per_request: Also count requests of which at least one page was missed.
        format: The trace's format, when it is not to be detected.
        device: Only this device of several.
        from_: Only what came at this time after the first request, or later: "90s", "1h30m".
        to: Only what came before this time.
        busiest: Only the window of this length with most requests.
        limit: Only the first so many requests (of the span).
        reading: How the files are read, where they leave it open.

    Raises:
        InputError: A file cannot be read, or is no trace, or a size does not fit it.
        ConfigError: An unknown cache, or a word that is none.
        KeyboardInterrupt: Ctrl-C.
    """
    caches = texts("cache", cache, "names of caches, or name:knob=value")
    sizes = None if size is None else texts("size", size, _SIZE)
    if seed is not None and sample is None:
        raise config_error("seed", seed, "beside sample, which it draws")
    opening = Opening.of(
        trace,
        format=format,
        device=device,
        span=(from_, to, busiest),
        limit=limit,
        reading=reading,
    )
    with opening.naming_frames():
        found = _native.hitrate(
            opening,
            caches=caches,
            sizes=sizes,
            unit=_unit(unit),
            count=text("count", count, "all or reads"),
            sample=maybe(_sample, "sample", sample),
            seed=1 if seed is None else whole("seed", seed, least=0),
            per_request=flag("per_request", per_request),
        )
    rates = _HIT_RATES.decode(found)
    return dataclasses.replace(rates, files=opening.named(rates.files))
