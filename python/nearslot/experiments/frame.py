"""What every experiment consists of: a question, a grid of runs, claims, a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from .. import _native
from ..arguments import finite, flag, text, whole
from ..errors import config_error
from .verdict import SEEDS_MOST, Check, ClaimVerdict, Kind

if TYPE_CHECKING:
    from .page import Chart
    from .statement import Statement
    from .table import Cell

_T = TypeVar("_T")
Asked = TypeVar("Asked", bound="Options")
"""Options of a study."""

SEED_OPTIONS = frozenset({"seed", "seeds", "seeds_max"})
"""Options that every experiment goes by."""

OVERHEADS_MS = (0.0, 0.3, 0.6)
"""Overheads of a request at which claims are reported; they are decided at the last."""


def option(default: _T, read: Callable[[str], object], told: str) -> _T:
    """A field that is also an option of the command: how its word is read, and its help."""
    return field(default=default, metadata={"read": read, "told": told})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of every experiment that differ from its published set-up only if the user says so.

    A study with options of its own derives a class from this one.

    Attributes:
        seed: First of the seeds; the others follow it.
        seeds: How many.
        seeds_max: How many at most, where a claim is undecided with fewer.
        drive: A drive of the catalog or a drive's TOML file.
        requests: Requests of each run.
        quick: A coarse grid, to see that everything works; its verdicts are provisional.
    """

    seed: int = option(1, int, "first seed")
    seeds: int = option(3, int, "how many seeds")
    seeds_max: int = option(9, int, "how many at most, where a claim is undecided")
    drive: str = option("seagate-cheetah-9lp", str, "drive of the catalog or TOML file")
    requests: int = option(50_000, int, "requests of each run")
    quick: bool = False

    QUICK: ClassVar[Mapping[str, int]] = {"requests": 8_000, "seeds": 2}
    """What a quick run has where nothing else is asked."""

    def __post_init__(self) -> None:
        """Refuses values that no run can have."""
        for one in fields(self):
            value, word = getattr(self, one.name), one.name.replace("_", "-")
            if isinstance(one.default, bool):
                flag(word, value)
            elif isinstance(one.default, int):
                whole(word, value, least=0)
            elif isinstance(one.default, str):
                text(word, value)
            elif value is not None or one.default is not None:
                finite(word, value)
        if self.requests < 1_000:
            raise config_error("requests", self.requests, "at least 1000")
        if not 1 <= self.seeds <= SEEDS_MOST:
            raise config_error("seeds", self.seeds, f"1 to {SEEDS_MOST}")
        if not self.seeds <= self.seeds_max <= SEEDS_MOST:
            allowed = f"from the {self.seeds} of seeds to {SEEDS_MOST}"
            raise config_error("seeds-max", self.seeds_max, allowed)

    @classmethod
    def asked(cls) -> dict[str, Field[Any]]:
        """The options that the command line has, by name."""
        return {one.name: one for one in fields(cls) if one.metadata}

    @property
    def all_seeds(self) -> list[int]:
        """Every seed of the first round."""
        return list(range(self.seed, self.seed + self.seeds))


@dataclass(frozen=True, kw_only=True)
class OverheadOptions(Options):
    """Options of a study whose claims depend on the overhead of a request.

    Attributes:
        overhead_ms: Overhead of a request before the arm moves; None as the experiment has it.
    """

    overhead_ms: float | None = option(
        None, float, "overhead a request, in place of the published sweep"
    )

    def __post_init__(self) -> None:
        """Refuses values that no run can have."""
        super().__post_init__()
        if self.overhead_ms is not None and not 0 <= self.overhead_ms <= 1_000:
            raise config_error("overhead-ms", self.overhead_ms, "0 to 1000")

    @property
    def overheads(self) -> tuple[float, ...]:
        """Overheads at which claims are reported."""
        return OVERHEADS_MS if self.overhead_ms is None else (self.overhead_ms,)

    @property
    def crossover_step_ms(self) -> float:
        """How closely to look for the overhead at which a claim turns."""
        return 0.1 if self.quick else 0.05

    def probing(self, overhead_ms: float) -> Self:
        """The options of a short run at one more overhead."""
        requests = max(1_000, self.requests // 2)
        return replace(self, seeds=1, overhead_ms=overhead_ms, requests=requests)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement and what was found.

    Attributes:
        id: Its name in the list of claims.
        kind: Where it comes from.
        statement: What is claimed.
        published: The published number, or where the statement stands if there is none.
        range: Over what it was decided.
        outside: What was found outside of that range.
        found: What was found, in words with units.
        checks: Its parts, each a value with its interval against a gate.
        verdict: What became of it; None if it is for information.
        provisional: Whether coarse and short runs decided it, so that it may change.
        seeds: How many seeds decided it.
        note: What it would be at other overheads, and what else is to be said.
    """

    id: str
    kind: Kind
    statement: str
    published: str
    range: str
    found: str
    outside: str = ""
    checks: list[Check] = field(default_factory=list)
    verdict: ClaimVerdict | None = None
    provisional: bool = False
    seeds: int = 0
    note: str = ""

    @property
    def says(self) -> str:
        """The verdict in words."""
        if self.verdict is None:
            return "for information"
        return f"{self.verdict}{', provisional' if self.provisional else ''}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        plain = {key: value for key, value in vars(self).items() if key != "checks"}
        return {**plain, "checks": [check.to_dict() for check in self.checks]}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of an experiment.

    Attributes:
        experiment: Its name.
        claims: Every claim with its verdict.
        runs: The numbers, a mapping for every run or point.
        seeds: Seeds of the runs; where a claim was undecided, some have more.
        version: Of nearslot.
        build: Of nearslot, as `nearslot.__build__` says it.
        options: What was asked.
    """

    experiment: str
    claims: list[Claim]
    runs: list[dict[str, Any]]
    seeds: list[int]
    version: str
    build: str
    options: Options

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        plain = {**vars(self), "options": asdict(self.options)}
        return {**plain, "claims": [claim.to_dict() for claim in self.claims]}


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[Asked]):
    """One published figure or table.

    Attributes:
        name: For the command line.
        question: What it asks.
        source: Where it was published.
        cells: The points of its grid.
        statements: What is decided on them.
        draw: Draws it from the outcome into a file, as the paper does; None if it has no figure.
        chart: What the interactive page draws of it; None if that shows nothing.
        needs: Modules that the package does not bring by itself, but for drawing.
        reads: Options that it goes by, besides seeds; None if those are all of its study.
        left_out: What of its grid cannot be run here, and why; empty if nothing.
    """

    name: str
    question: str
    source: str
    cells: Callable[[Asked], Sequence[Cell]]
    statements: Sequence[Statement]
    draw: Callable[[Outcome, Path], None] | None = None
    chart: Chart | None = None
    needs: tuple[str, ...] = ()
    reads: frozenset[str] | None = None
    left_out: Callable[[Asked], str] | None = None

    def goes_by(self, option: str) -> bool:
        """Whether an option of its study has an effect on it."""
        return self.reads is None or option in self.reads | SEED_OPTIONS

    def told_left_out(self, options: Asked) -> str:
        """What of its grid cannot be run here; empty if nothing."""
        return "" if self.left_out is None else self.left_out(options)

    def run(self, options: Asked) -> Outcome:
        """Runs the grid, with more seeds where a claim is undecided, and decides the claims."""
        from .statement import carry_out

        claims, rows = carry_out(self, options)
        left_out = self.told_left_out(options)
        if left_out:
            claims = [
                replace(one, note="; ".join(filter(None, (one.note, left_out)))) for one in claims
            ]
        return Outcome(
            experiment=self.name,
            claims=claims,
            runs=rows,
            seeds=options.all_seeds,
            version=_native.__version__,
            build=_native.__build__,
            options=options,
        )


@dataclass(frozen=True, kw_only=True)
class Study(Generic[Asked]):
    """The experiments of one body of published work; a folder of its own.

    Attributes:
        name: For the command line, where it stands for all its experiments.
        options: What may be asked of them.
        experiments: They, in the order of the publication.
    """

    name: str
    options: type[Asked]
    experiments: Sequence[Experiment[Asked]]


NAME_MAX = 90
"""Letters of a claim that are told beside its number."""


def summary(claims: Iterable[Claim]) -> str:
    """Counts the claims of each kind by their verdict, and lists by name those that do not hold."""
    claims = list(claims)
    counts: dict[Kind, Counter[ClaimVerdict]] = {kind: Counter() for kind in Kind}
    told = 0
    provisional = False
    for claim in claims:
        provisional |= claim.provisional
        if claim.verdict is None:
            told += 1
        else:
            counts[claim.kind][claim.verdict] += 1
    lines = [" " * 26 + "".join(f"{verdict.value:>16}" for verdict in ClaimVerdict)]
    for kind, count in counts.items():
        if kind is not Kind.INFORMATION:
            lines.append(f"{kind.value:26}" + "".join(f"{count[one]:16}" for one in ClaimVerdict))
    lines.append(f"{Kind.INFORMATION.value:26}{told:16} told, nothing decided")
    for verdict in ClaimVerdict:
        if verdict is not ClaimVerdict.HOLDS:
            those = [claim for claim in claims if claim.verdict is verdict]
            lines += [f"{verdict.value}:"] if those else []
            lines += [f"  {claim.id:8} {shorten(claim.statement, NAME_MAX)}" for claim in those]
    if provisional:
        lines.append("provisional: coarse grids and short runs decided, --quick was asked for")
    return "\n".join(lines)
