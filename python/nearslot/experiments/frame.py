"""What every experiment is made of: a question, a grid of runs, claims decided on it, a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..errors import config_error

if TYPE_CHECKING:
    from .page import Chart

# Two-sided 95 % points of Student's t by degrees of freedom.
_STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be asked of an experiment besides its published set-up.

    Attributes:
        seed: First of the seeds; the others follow it.
        seeds: How many.
        drive: A drive of the catalog or a drive's TOML file.
        overhead_ms: Overhead of a request before the arm moves; None as the experiment has it.
        dilution: Slots per block of the volume; None is the published value.
        requests: Requests of each run.
        quick: A coarse grid, to see that everything works.
    """

    seed: int = 1
    seeds: int = 3
    drive: str = "seagate-cheetah-9lp"
    overhead_ms: float | None = None
    dilution: float | None = None
    requests: int = 50_000
    quick: bool = False

    def __post_init__(self) -> None:
        """Refuses what no run can have."""
        if self.requests < 1_000:
            raise config_error("requests", self.requests, "at least 1000")
        if self.seeds < 1:
            raise config_error("seeds", self.seeds, "at least 1")
        if self.overhead_ms is not None and not 0 <= self.overhead_ms <= 1_000:
            raise config_error("overhead-ms", self.overhead_ms, "0 to 1000")
        if self.dilution is not None and self.dilution < 1.001:
            raise config_error("dilution", self.dilution, "at least 1.001")

    @property
    def all_seeds(self) -> list[int]:
        """Every seed."""
        return list(range(self.seed, self.seed + self.seeds))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A published statement and what was found.

    Attributes:
        id: Its name in the list of claims.
        statement: What is claimed.
        published: The published number, or where the statement stands if there is none.
        found: What was found, in words with units.
        ci: Half width of the 95 % interval of the value found, in its unit; None if it has none.
        holds: Whether it does; None if this cannot tell.
        note: Under which conditions, and why it cannot be told.
    """

    id: str
    statement: str
    published: str
    found: str
    ci: float | None = None
    holds: bool | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an experiment came to.

    Attributes:
        experiment: Its name.
        claims: Every claim with its verdict.
        runs: The numbers, a mapping for every run or point.
        seeds: Seeds of the runs.
        version: Of nearslot.
        options: What was asked.
    """

    experiment: str
    claims: list[Claim]
    runs: list[dict[str, Any]]
    seeds: list[int]
    version: str
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        options: Options,
        *,
        experiment: str,
        claims: list[Claim],
        runs: list[dict[str, Any]],
    ) -> Outcome:
        """What an experiment came to that was asked for with these options."""
        return cls(
            experiment=experiment,
            claims=claims,
            runs=runs,
            seeds=options.all_seeds,
            version=_native.__version__,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One published figure or table.

    Attributes:
        name: For the command line.
        question: What it asks.
        source: Where it was published.
        run: Does it.
        draw: Draws it from the outcome into a file, as the paper does; None if it has no figure.
        chart: What the interactive page draws of it; None if that shows nothing.
        needs: Modules that the package does not bring by itself, but for drawing.
    """

    name: str
    question: str
    source: str
    run: Callable[[Options], Outcome]
    draw: Callable[[Outcome, Path], None] | None = None
    chart: Chart | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with half the width of its 95 % interval; None from a single seed."""

    value: float
    ci: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of one value a seed."""
        count = len(values)
        mean = sum(values) / count
        if count < 2:
            return cls(mean, None)
        variance = sum((value - mean) ** 2 for value in values) / (count - 1)
        student = _STUDENT[count - 2] if count - 2 < len(_STUDENT) else 1.96
        return cls(mean, student * math.sqrt(variance / count))


def ratios(above: Mapping[int, float], below: Mapping[int, float]) -> Mean:
    """How much one is above another, relatively, seed by seed: common noise is out."""
    return Mean.of([above[seed] / below[seed] - 1 for seed in above])


def percent(mean: Mean) -> str:
    """As a signed percentage with its interval."""
    spread = "" if mean.ci is None else f" ± {mean.ci * 100:.1f}"
    return f"{mean.value * 100:+.1f}{spread} %"
