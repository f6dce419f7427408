"""What is wrong with an argument is told by its name: no function of the package fails otherwise.

Every argument of every function gets every kind of empty and of unfit value in turn. It is used, or
an error of the package says what is allowed; an error of Python's own names nothing, and a panic of
the engine is its own fault.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

import nearslot
from nearslot import ConfigError, NearslotError, Reading, Scenario
from nearslot.experiments.sarc import Options
from nearslot.scenario import Settings

Call = Callable[..., object]


def unfit() -> list[object]:
    """Values anew, as iterators are used up."""
    empty: list[object] = [[], (), {}, set(), iter(()), "", b""]
    nested: list[object] = [[[]], [{}], [None], [""], {"": []}, {1: 2}, {"sched": 3}]
    other: list[object] = [None, True, -1, 0, 5, 10**30, 0.5, float("nan"), 1j, object(), len]
    return [*empty, *nested, *other, b"x", "\0", "\ud800", ["\ud800"], "no such thing", [5]]


def calls(trace: Path, tmp_path: Path) -> dict[str, tuple[Call, Mapping[str, object], list[str]]]:
    """Functions with arguments that are good, and the names of all that they take."""
    load = {"load": str(trace), "drive": "null", "limit": 1_000}
    out = tmp_path / "out.parquet"
    page = {"path": tmp_path / "out.html", "force": True}
    settings = list(Settings.__annotations__)
    run = nearslot.run(str(trace), drive="null", limit=1_000, requests=True)
    grid = nearslot.compare(str(trace), drive="null", limit=1_000, sched=["fcfs", "look"])
    hits = nearslot.hitrate(str(trace), cache="lru", size="10%")
    found = nearslot.capacity(str(trace), drive="null", slo="mean < 1 s", resolution_percent=50)

    def named(of: Call, *more: str) -> list[str]:
        # `settings` are named one by one, `self` by nobody.
        names = [name for name in inspect.signature(of).parameters if name != "settings"]
        return [*names, *more]

    def scenario(**of: object) -> object:
        return Scenario(**of).to_dict()  # type: ignore[arg-type]

    def read(**of: object) -> object:
        reading = Reading(**of)  # type: ignore[arg-type]
        return nearslot.inspect(str(trace), reading=reading, limit=100)

    search = {**load, "slo": "mean < 1 s", "resolution_percent": 50.0}
    functions: list[tuple[str, Call, Mapping[str, object], list[str]]] = [
        ("inspect", nearslot.inspect, {"trace": str(trace)}, named(nearslot.inspect)),
        ("hitrate", nearslot.hitrate, {"trace": str(trace)}, named(nearslot.hitrate)),
        ("run", nearslot.run, load, named(nearslot.run, *settings)),
        ("compare", nearslot.compare, load, named(nearslot.compare, *settings)),
        ("capacity", nearslot.capacity, search, named(nearslot.capacity, *settings)),
        ("sweep", nearslot.sweep, {**load, "out": out}, named(nearslot.sweep, *settings)),
        ("list", nearslot.list, {}, named(nearslot.list)),
        ("show", nearslot.show, {}, named(nearslot.show)),
        ("part", partial(nearslot.part, "lru"), {}, ["line_kib"]),
        ("scenario", scenario, {"trace": str(trace)}, named(Scenario)),
        ("workload", scenario, {"workload": "iometer"}, ["workload", *settings]),
        ("from_toml", Scenario.from_toml, {"text": 'workload = "iometer"'}, ["text", "directory"]),
        ("read", Scenario.read, {}, ["path"]),
        ("reading", read, {}, named(Reading)),
        ("options", Options, {}, [*Options.asked(), "quick"]),
        ("page", grid.to_html, page, named(grid.to_html)),
        ("rates", hits.to_html, page, named(hits.to_html)),
        ("capacities", found.to_html, page, named(found.to_html)),
        ("rows", run.requests.to_parquet, {**page, "path": out}, named(run.requests.to_parquet)),
    ]
    return {name: (of, good, several) for name, of, good, several in functions}


NAMES = (
    *("inspect", "hitrate", "run", "compare", "capacity", "sweep", "list", "show", "part"),
    *("scenario", "workload", "from_toml", "read", "reading", "options"),
    *("page", "rates", "capacities", "rows"),
)


def test_every_function_is_asked(trace: Path, tmp_path: Path) -> None:
    assert tuple(calls(trace, tmp_path)) == NAMES
    functions = [
        name
        for name in nearslot.__all__
        if inspect.isfunction(getattr(nearslot, name)) and name not in ("list", "part", "show")
    ]
    assert {*functions} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_an_unfit_value_is_told_by_name(
    name: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, good, several = calls(trace, tmp_path)[name]
    # Whatever is taken for the name of a file is one here.
    monkeypatch.chdir(tmp_path)
    wrong = []
    for argument in several:
        for value in unfit():
            if argument == "progress" and callable(value):
                # What it raises is its own business.
                continue
            told = f"{argument}={value!r}"
            try:
                of(**{**good, argument: value})
            except NearslotError as error:
                if not str(error):
                    wrong.append(f"{told}: nothing is said")
            except BaseException as error:  # a panic is no Exception
                wrong.append(f"{told}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("argument", "value", "told"),
    [
        ("cache", [], "cache = [] (allowed: at least one value)"),
        ("size", [], "size = [] (allowed: at least one value)"),
        ("size", 10, 'size = 10 (allowed: words with a unit, as "1%", "512MiB" or "1000lines")'),
        ("size", 0.1, "size = 0.1 (allowed: words with a unit"),
        ("cache", None, "cache = None (allowed: names of caches"),
        ("cache", [None], "cache = None (allowed: names of caches"),
        ("sample", 0.3, "sample = 0.3 (allowed: a share of the lines as a word"),
        ("seed", -1, "seed = -1 (allowed: a whole number from 0)"),
        ("limit", 0, "limit = 0 (allowed: a whole number from 1)"),
        ("per_request", "yes", "per_request = 'yes' (allowed: True or False)"),
        ("trace", [], "trace = [] (allowed: at least one file"),
        ("trace", 5, "trace = 5 (allowed: paths of files, or data frames)"),
        ("reading", {}, "reading = {} (allowed: a nearslot.Reading)"),
    ],
)
def test_hit_rates_name_what_is_wrong(trace: Path, argument: str, value: object, told: str) -> None:
    asked = {"trace": str(trace), "size": "10%", argument: value}
    if argument == "seed":
        asked["sample"] = "50%"
    with pytest.raises(ConfigError, match=re.escape(told)):
        nearslot.hitrate(**asked)


def test_a_grid_names_what_is_wrong(trace: Path) -> None:
    for wrong, told in [
        ({"vary": {"sched": []}}, r"vary sched = \[\] .*at least one value"),
        ({"vary": {"sched": 3}}, r"vary sched = 3 .*a list of values"),
        ({"vary": ["sched"]}, r"vary = \['sched'\] .*a mapping of keys to lists of values"),
        ({"sched": []}, r"vary sched = \[\] .*at least one value"),
        ({"jobs": -1}, r"jobs = -1 .*a whole number"),
        ({"warmup": None}, r"warmup = None .*a word"),
        ({"series": "no"}, r"series = 'no' .*True or False"),
    ]:
        with pytest.raises(ConfigError, match=told):
            nearslot.compare(trace, **wrong)  # type: ignore[arg-type]


def test_whole_numbers_of_other_types_are_numbers(trace: Path) -> None:
    numpy = pytest.importorskip("numpy")
    assert nearslot.inspect(trace, limit=numpy.int64(100)).requests == 100
