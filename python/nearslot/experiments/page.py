"""Figures of outcomes as one interactive page: lines, their intervals, the claims beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import _native
from .frame import Experiment, Outcome
from .table import Table
from .verdict import Mean, Where

_SCHEMA = 3


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What the page draws of an outcome: throughput along an axis, a panel for each overhead.

    Attributes:
        axis: Key of the rows along which lines run.
        label: What that is, in words.
        setup: What all runs have in common besides length and drive, in words; it gets the options.
        names: Schedulers of the rows by the names that the lines have.
        where: The rows that are drawn.
        logarithmic: Whether values double from one to the next.
    """

    axis: str
    label: str
    setup: Callable[[Any], str]
    names: Mapping[str, str]
    where: Where = field(default_factory=dict)
    logarithmic: bool = False

    def figure(self, experiment: Experiment[Any], outcome: Outcome) -> dict[str, Any]:
        """The figure in the form that the page reads."""
        options = outcome.options
        setup = f"{self.setup(options)}, {options.requests} requests a run, {options.drive}"
        drawn = Table(outcome.runs).only(**self.where)
        values = drawn.values(self.axis)
        return {
            "name": outcome.experiment,
            "question": experiment.question,
            "source": experiment.source,
            "setup": setup,
            "seeds": outcome.seeds,
            "x": _axis(self.label, "", values if self.logarithmic else None),
            "y": _axis("throughput", "requests/s", None),
            "panels_by": "overhead of a request",
            "panels": [
                {"name": f"{overhead:g} ms", "lines": self._lines(drawn.rows, overhead)}
                for overhead in drawn.values("overhead_ms")
            ],
            "claims": [
                {
                    "id": claim.id,
                    "kind": claim.kind.value,
                    "statement": claim.statement,
                    "published": claim.published,
                    "range": claim.range,
                    "outside": claim.outside,
                    "found": claim.found,
                    "verdict": None if claim.verdict is None else claim.verdict.value,
                    "provisional": claim.provisional,
                    "note": claim.note,
                }
                for claim in outcome.claims
            ],
        }

    def _lines(self, rows: Iterable[Mapping[str, Any]], overhead: float) -> list[dict[str, Any]]:
        found: dict[str, dict[float, list[float]]] = {name: {} for name in self.names}
        schedulers = {sched: name for name, sched in self.names.items()}
        for row in rows:
            if row["overhead_ms"] == overhead and row["sched"] in schedulers:
                points = found[schedulers[row["sched"]]]
                points.setdefault(row[self.axis], []).append(row["throughput_rps"])
        return [_line(name, points) for name, points in found.items() if points]


def _line(name: str, points: Mapping[float, list[float]]) -> dict[str, Any]:
    means = {at: Mean.of(values) for at, values in sorted(points.items())}

    def end(mean: Mean, sign: int) -> float | None:
        return None if mean.ci is None else mean.value + sign * mean.ci

    return {
        "label": name,
        "x": list(means),
        "y": [mean.value for mean in means.values()],
        "low": [end(mean, -1) for mean in means.values()],
        "high": [end(mean, 1) for mean in means.values()],
    }


def _axis(label: str, unit: str, doubling: list[float] | None) -> dict[str, Any]:
    return {"label": label, "unit": unit, "log": doubling is not None, "ticks": doubling or []}


def save(
    found: Iterable[tuple[Experiment[Any], Outcome]],
    path: str | os.PathLike[str],
    *,
    force: bool = False,
) -> bool:
    """Writes one self-contained page of all experiments that have a chart; False if none has.

    Raises:
        ConfigError: The file exists, and `force` does not say that it may be replaced.
        InputError: It cannot be written.
    """
    figures = [
        experiment.chart.figure(experiment, outcome)
        for experiment, outcome in found
        if experiment.chart is not None
    ]
    if figures:
        program = {"version": _native.__version__, "build": _native.__build__}
        page = {"schema": _SCHEMA, **program, "figures": figures}
        _native.figures_html(json.dumps(page, allow_nan=False), os.fspath(path), force)
    return bool(figures)
