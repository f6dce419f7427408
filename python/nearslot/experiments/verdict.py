"""How a claim is decided: an interval against a gate, by one function and in no other way.

A gate is a range of values. Where the 95 % interval of what was found lies inside, the claim holds;
where it lies outside, the claim does not hold; where it straddles a limit, nothing is decided, and
more seeds are needed. A value from a single seed has no interval, so it decides nothing. A value
that no chance enters is exact: its interval is the value itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..errors import config_error

# Two-sided 95 % points of Student's t by degrees of freedom.
_STUDENT = [
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
]
SEEDS_MOST = len(_STUDENT) + 1
"""So many seeds the table is made for."""

Where = Mapping[str, object]
"""Which points of a grid: those whose marks have these values."""


class ClaimVerdict(StrEnum):
    """What the runs say of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNTESTABLE = "not testable"


class Kind(StrEnum):
    """Where a claim comes from; kinds are counted apart."""

    NUMBER = "published with a number"
    ORDER = "published without a number"
    FORMULA = "formula only"
    OWN = "our own"
    INFORMATION = "information"


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with half the width of its 95 % interval; None from a single seed.

    Attributes:
        value: The mean.
        ci: Half of the interval's width; 0 if the value is exact.
        needs: The points of a grid that it was found at.
    """

    value: float
    ci: float | None
    needs: tuple[Where, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, values: Sequence[float], needs: Iterable[Where] = ()) -> Mean:
        """The mean of one value a seed."""
        count = len(values)
        if count > SEEDS_MOST:
            raise config_error("seeds", count, f"at most {SEEDS_MOST}")
        mean = math.fsum(values) / count
        if count < 2:
            return cls(mean, None, tuple(needs))
        if min(values) == max(values):
            return cls(values[0], 0.0, tuple(needs))
        variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
        return cls(mean, _STUDENT[count - 2] * math.sqrt(variance / count), tuple(needs))

    @classmethod
    def exact(cls, value: float) -> Mean:
        """A value without randomness; its interval is the value itself."""
        return cls(value, 0.0)


@dataclass(frozen=True)
class Gate:
    """A range of values in which a claim holds; it includes its limits unless it is strict."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    def has(self, value: float) -> bool:
        """Whether a value lies inside."""
        if self.strict:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def clear_of(self, low: float, high: float) -> bool:
        """Whether all of an interval lies outside, on one side."""
        if self.strict:
            return high <= self.low or low >= self.high
        return high < self.low or low > self.high

    def slack(self, mean: Mean) -> float:
        """How far a value lies inside; less than 0 if it lies outside."""
        return min(mean.value - self.low, self.high - mean.value)


def at_least(low: float) -> Gate:
    """This value or more."""
    return Gate(low=low)


def at_most(high: float) -> Gate:
    """This value or less."""
    return Gate(high=high)


def above(low: float) -> Gate:
    """More than this value."""
    return Gate(low=low, strict=True)


def below(high: float) -> Gate:
    """Less than this value."""
    return Gate(high=high, strict=True)


def within(low: float, high: float) -> Gate:
    """From one value to another."""
    return Gate(low, high)


def decide(found: Mean, gate: Gate) -> ClaimVerdict:
    """The verdict on an interval and a gate; nothing else decides one."""
    if not math.isfinite(found.value):
        raise ValueError(f"{found.value} was found, which no gate can decide")
    if found.ci is None:
        return ClaimVerdict.UNDECIDED
    low, high = found.value - found.ci, found.value + found.ci
    if gate.has(low) and gate.has(high):
        return ClaimVerdict.HOLDS
    return ClaimVerdict.FAILS if gate.clear_of(low, high) else ClaimVerdict.UNDECIDED


def together(verdicts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """The verdict on a claim that has several parts, all of which have to hold.

    If one part cannot be tested, the other parts can only show that the claim does not hold.
    """
    found = set(verdicts)
    if not found or found == {ClaimVerdict.UNTESTABLE}:
        return ClaimVerdict.UNTESTABLE
    if ClaimVerdict.FAILS in found:
        return ClaimVerdict.FAILS
    if found == {ClaimVerdict.HOLDS}:
        return ClaimVerdict.HOLDS
    return ClaimVerdict.UNDECIDED


@dataclass(frozen=True)
class Check:
    """A part of a claim: the measured value, and the values with which the claim holds.

    Attributes:
        what: What was measured, where.
        found: It.
        gate: What it has to be; None if this part cannot be tested, which `what` then tells.
        unit: `%` of a ratio's excess, or what follows the number.
    """

    what: str
    found: Mean | None
    gate: Gate | None
    unit: str = "%"

    @property
    def verdict(self) -> ClaimVerdict:
        """What it says."""
        if self.found is None or self.gate is None:
            return ClaimVerdict.UNTESTABLE
        return decide(self.found, self.gate)

    @property
    def leans(self) -> bool | None:
        """On which side of its gate the value lies, whatever its interval."""
        if self.found is None or self.gate is None:
            return None
        return self.gate.has(self.found.value)

    def told(self) -> str:
        """In words with units."""
        if self.found is None or self.gate is None:
            return self.what
        number = number_of(self.found, self.unit)
        return f"{self.what}: {number} ({_limits(self.gate, self.unit)})"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        gate = self.gate or Gate()
        return {
            "what": self.what,
            "value": None if self.found is None else self.found.value,
            "ci": None if self.found is None else self.found.ci,
            "low": gate.low if math.isfinite(gate.low) else None,
            "high": gate.high if math.isfinite(gate.high) else None,
            "unit": self.unit,
            "verdict": self.verdict.value,
        }


def missing(what: str) -> Check:
    """A part of a claim that these runs cannot test, and the reason."""
    return Check(what, None, None)


def exactly(what: str, value: float, gate: Gate, unit: str = "") -> Check:
    """A part of a claim whose value has no randomness."""
    return Check(what, Mean.exact(value), gate, unit)


def number_of(mean: Mean, unit: str = "%") -> str:
    """A value with its interval."""
    if unit == "%":
        return percent(mean)
    spread = f" ± {mean.ci:.2g}" if mean.ci else ""
    return f"{mean.value:.4g}{spread} {unit}".rstrip()


def percent(mean: Mean) -> str:
    """As a signed percentage with its interval."""
    spread = "" if mean.ci is None else f" ± {mean.ci * 100:.1f}"
    return f"{mean.value * 100:+.1f}{spread} %"


def _limits(gate: Gate, unit: str) -> str:
    def one(value: float) -> str:
        return f"{value * 100:+g} %" if unit == "%" else f"{value:g} {unit}".rstrip()

    low, high = math.isfinite(gate.low), math.isfinite(gate.high)
    if low and high:
        return f"holds from {one(gate.low)} to {one(gate.high)}"
    if low:
        return f"holds {'above' if gate.strict else 'from'} {one(gate.low)}"
    return f"holds {'below' if gate.strict else 'up to'} {one(gate.high)}"
