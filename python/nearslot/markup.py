"""Results in a notebook: the verdict in words and a table for each load, as the command prints."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Difference, Rank, Results
    from .runs import Run

_RANKED = ("#", "run", "mean ms", "95 % interval ms", "to best \u00d7", "against baseline ms")
_PLAIN = ("run", "mean ms", "95 % interval ms")
_ALL = ("p99 ms", "rate req/s", "busy %")

# Colours of the notebook's own theme: nothing here sets any.
_TABLE = "border-collapse:collapse;font-size:inherit;font-variant-numeric:tabular-nums"
_CAPTION = "caption-side:top;text-align:left;font-weight:600;padding:.6em .7em .2em"
_CELL = "padding:.15em .7em;white-space:nowrap;text-align:"


def results_html(results: Results) -> str:
    """The headline, what else the verdict says, the runs, and what to know of them."""
    verdict = results.verdict
    parts = [f"<p><b>{escape(verdict.headline)}</b></p>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in verdict.details]
    for ranking in verdict.rankings:
        rows = [_ranked(rank, results.runs[rank.run]) for rank in ranking.ranks]
        parts.append(_table(ranking.load, (*_RANKED, *_ALL), rows))
    ranked = {rank.run for ranking in verdict.rankings for rank in ranking.ranks}
    others = [run for index, run in enumerate(results.runs) if index not in ranked]
    if others:
        rows = [(run.label, *_means(run), *_numbers(run)) for run in others]
        parts.append(_table("", (*_PLAIN, *_ALL), rows))
    parts.append(f"<p>{escape(_facts(results))}</p>")
    if results.warnings:
        listed = "".join(f"<li>{escape(str(warning))}</li>" for warning in results.warnings)
        parts.append(f"<p>Warnings:</p><ul>{listed}</ul>")
    return f"<div>{''.join(parts)}</div>"


def _facts(results: Results) -> str:
    done = f"{len(results)} of {results.runs_planned} runs"
    chosen = results.drive_chosen
    drives = sorted({str(run.config["drive"]["name"]) for run in results.runs})
    drive = chosen.why if chosen else f"drive {', '.join(drives)}"
    return (
        f"{done}; {drive}; seed {results.seed}; nearslot {results.version}, build {results.build}"
    )


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>' if title else ""
    sides = ["left" if head == "run" else "right" for head in heads]
    head = "".join(
        f'<th scope="col" style="{_CELL}{side}">{escape(name)}</th>'
        for name, side in zip(heads, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}{side}">{escape(cell)}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    rows_of = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    table = f'<table style="{_TABLE}">{caption}{rows_of}</table>'
    # A narrow window scrolls the table alone.
    return f'<div style="overflow-x:auto">{table}</div>'


def _ranked(rank: Rank, run: Run) -> tuple[str, ...]:
    ratio = "\u2013" if rank.ratio_to_best is None else f"{rank.ratio_to_best:.2f}"
    against = _difference(rank.against_baseline)
    return (str(rank.place), rank.choice, *_means(run), ratio, against, *_numbers(run))


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return "baseline"
    if difference.ms is None or difference.word == "equal":
        return difference.word
    half = ""
    if difference.ci95_ms is not None:
        low, high = difference.ci95_ms
        half = f" \u00b1 {(high - low) / 2:.3g}"
    return f"{difference.ms:+.4g}{half} {difference.word}"


def _means(run: Run) -> tuple[str, str]:
    times = run.response_ms
    if run.queue_growth_rps is not None:
        return (f"queue grows by {run.queue_growth_rps:.4g}/s", "\u2013")
    interval = "\u2013" if times.ci95 is None else " \u2013 ".join(f"{ms:.4g}" for ms in times.ci95)
    return (f"{times.mean:.4g}", interval)


def _numbers(run: Run) -> tuple[str, ...]:
    p99 = run.response_ms.p99 if run.queue_growth_rps is None else None
    return (
        "\u2013" if p99 is None else f"{p99:.4g}",
        f"{run.throughput_rps:.4g}",
        f"{run.utilisation * 100:.3g}",
    )
