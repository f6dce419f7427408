"""``python -m nearslot.experiments``: lists and runs published experiments.

Exit codes: 0 the experiments ran, whatever the verdicts; 2 wrong usage; 3 input unfit;
4 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .. import _native
from ..errors import ConfigError, InputError, Interrupted, config_error
from . import STUDIES, find, page, summary
from .frame import Experiment, Options, Outcome, Study

_INDENT = " " * 6


def main(arguments: list[str] | None = None, studies: Sequence[Study[Any]] = STUDIES) -> int:
    """Runs the command and gives its exit code."""
    parsed = _parser(studies).parse_args(arguments)
    try:
        if parsed.command == "list":
            for _, experiment in find(["all"], studies):
                print(f"{experiment.name:12} {experiment.question}\n{'':12} {experiment.source}")
            return 0
        return _run(parsed, studies)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"error: {error}: pip install 'nearslot[experiments]'", file=sys.stderr)
        return 2
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except (Interrupted, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 4


def _run(parsed: argparse.Namespace, studies: Sequence[Study[Any]]) -> int:
    chosen = [
        (experiment, _options(parsed, experiment, study, studies))
        for study, experiment in find(parsed.names, studies)
    ]
    _refuse_unread(parsed, chosen)
    outcomes = []
    if parsed.out is not None:
        _check_files([one for one, _ in chosen], parsed.out, force=parsed.force)
    _find_modules([one for one, _ in chosen], drawn=parsed.out is not None)
    for experiment, options in chosen:
        print(f"{experiment.name}: {experiment.question}", file=sys.stderr, flush=True)
        for word in _unread(experiment, _given(parsed, type(options).asked())):
            print(f"  --{word} has no effect here", file=sys.stderr)
        left_out = experiment.told_left_out(options)
        if left_out:
            print(f"  {left_out}", file=sys.stderr, flush=True)
        before = time.monotonic()
        outcome = experiment.run(options)
        print(f"  done in {time.monotonic() - before:.0f} s", file=sys.stderr, flush=True)
        outcomes.append(outcome)
        if parsed.format == "text":
            _print(outcome)
        if parsed.out is not None:
            _save(experiment, outcome, parsed.out)
    if parsed.out is not None:
        found = [(one, outcome) for (one, _), outcome in zip(chosen, outcomes, strict=True)]
        _save_page(found, parsed.out, force=parsed.force)
    told = summary(claim for outcome in outcomes for claim in outcome.claims)
    if parsed.out is not None:
        (parsed.out / "claims.txt").write_text(told + "\n", encoding="utf-8")
    if parsed.format == "text":
        print(told)
    if parsed.format == "json":
        plain = [outcome.to_dict() for outcome in outcomes]
        print(json.dumps(plain[0] if len(plain) == 1 else plain, indent=1))
    return 0


def _options(
    parsed: argparse.Namespace,
    experiment: Experiment[Any],
    study: Study[Any],
    studies: Iterable[Study[Any]],
) -> Options:
    """Options of one experiment; quick runs have two seeds and add none unless told otherwise."""
    given = _given(parsed, {key for one in studies for key in one.options.asked()})
    for key, value in given.items():
        if key not in study.options.asked():
            word = _word(key)
            raise config_error(word, value, f"nothing for {experiment.name}, which has no {word}")
    few = dict(study.options.QUICK) if parsed.quick else {}
    asked = {**few, **given}
    if parsed.quick and "seeds_max" not in asked:
        asked["seeds_max"] = asked["seeds"]
    elif "seeds_max" not in asked:
        asked["seeds_max"] = max(Options.seeds_max, asked.get("seeds", 0))
    options: Options = study.options(**asked, quick=parsed.quick)
    return options


def _given(parsed: argparse.Namespace, keys: Iterable[str]) -> dict[str, Any]:
    """Those of these options that were given."""
    return {key: getattr(parsed, key) for key in keys if getattr(parsed, key) is not None}


def _word(key: str) -> str:
    """An option as it is typed, but for its dashes."""
    return key.replace("_", "-")


def _unread(experiment: Experiment[Any], given: Iterable[str]) -> list[str]:
    """Those of these options that an experiment does not go by, as they are typed."""
    return [_word(key) for key in given if not experiment.goes_by(key)]


def _refuse_unread(
    parsed: argparse.Namespace, chosen: Sequence[tuple[Experiment[Any], Options]]
) -> None:
    """Refuses an option that no experiment goes by that was chosen."""
    keys = {key for _, options in chosen for key in type(options).asked()}
    for key, value in sorted(_given(parsed, keys).items()):
        if not any(experiment.goes_by(key) for experiment, _ in chosen):
            names = ", ".join(experiment.name for experiment, _ in chosen)
            raise config_error(_word(key), value, f"left out for {names}: no run goes by it")


def _find_modules(experiments: Iterable[Experiment[Any]], *, drawn: bool) -> None:
    """Imports what the experiments need, so that a missing module is named before the first run."""
    for experiment in experiments:
        figure = ("matplotlib",) if drawn and experiment.draw is not None else ()
        for module in (*experiment.needs, *figure):
            importlib.import_module(module)


def _check_files(chosen: Sequence[Experiment[Any]], folder: Path, *, force: bool) -> None:
    """Refuses files that exist and may not be replaced, before the first run."""
    if not folder.is_dir():
        return
    names = [f"{experiment.name}.json" for experiment in chosen]
    names += [f"{experiment.name}.svg" for experiment in chosen if experiment.draw is not None]
    names += ["claims.txt"]
    names += ["figures.html"] if any(experiment.chart for experiment in chosen) else []
    for name in names:
        _native.check_output("--out", str(folder / name), [], force)


def _print(outcome: Outcome) -> None:
    for claim in outcome.claims:
        print(f"{claim.id:5} {claim.says}: {claim.statement}")
        print(f"{_INDENT}{claim.kind}: {claim.published}")
        print(f"{_INDENT}decided over: {claim.range} ({claim.seeds} seeds)")
        print(f"{_INDENT}found: {claim.found}")
        if claim.outside:
            print(f"{_INDENT}outside of that: {claim.outside}")
        if claim.note:
            print(f"{_INDENT}{claim.note}")


def _save(experiment: Experiment[Any], outcome: Outcome, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.json"
    path.write_text(json.dumps(outcome.to_dict(), indent=1) + "\n", encoding="utf-8")
    written = [path]
    if experiment.draw is not None:
        figure = folder / f"{experiment.name}.svg"
        experiment.draw(outcome, figure)
        written.append(figure)
    print("  wrote " + ", ".join(str(path) for path in written), file=sys.stderr)


def _save_page(
    found: Iterable[tuple[Experiment[Any], Outcome]], folder: Path, *, force: bool
) -> None:
    path = folder / "figures.html"
    if page.save(found, path, force=force):
        print(f"wrote {path}: all figures as one interactive page", file=sys.stderr)


def _parser(studies: Sequence[Study[Any]]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m nearslot.experiments",
        description="Repeats published studies and decides their claims.",
        epilog="examples: run ew-fig4 --out figures; run all --quick; run ew-fig5 --seeds 5",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="every experiment, its question and its source")
    run = commands.add_parser("run", help="run some and print their claims")
    run.add_argument("names", nargs="+", metavar="NAME", help="experiments or studies; all for all")
    run.add_argument("--quick", action="store_true", help="coarse grids and short runs")
    run.add_argument("--format", choices=["text", "json"], default="text")
    run.add_argument("--out", type=Path, metavar="DIR", help="write results and figures there")
    run.add_argument("--force", action="store_true", help="replace files that exist in DIR")
    asked = {key: one for study in studies for key, one in study.options.asked().items()}
    for key, one in asked.items():
        told = one.metadata["told"] + _defaults(key, studies).replace("%", "%%")
        run.add_argument(f"--{key.replace('_', '-')}", type=one.metadata["read"], help=told)
    return parser


def _defaults(key: str, studies: Iterable[Study[Any]]) -> str:
    """What an option is when it is left out: in each study, where they differ."""
    names: dict[object, list[str]] = {}
    for study in studies:
        if key in study.options.asked():
            names.setdefault(study.options.asked()[key].default, []).append(study.name)
    if set(names) <= {None, ""}:
        return ""
    if len(names) == 1:
        return f" [{next(iter(names))}]"
    told = (
        f"{value} for {', '.join(of)}" for value, of in names.items() if value not in (None, "")
    )
    return f" [{'; '.join(told)}]"


if __name__ == "__main__":
    sys.exit(main())
