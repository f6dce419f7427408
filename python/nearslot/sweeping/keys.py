"""The name of a run: the hash of everything that decides what it finds."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import _native
from ..errors import InputError
from ..scenario import Reading, Scenario

# Layout of kept rows: raise the number when their columns change.
LAYOUT = 3


def hashes(scenario: Scenario, words: list[tuple[str, list[str]]], reading: Reading) -> list[str]:
    """A hash for each run, of everything that decides what it finds."""
    base = json.loads(_native.scenario_json(scenario.to_toml(), ""))
    drives = _drives(base, words)
    shared = {
        "layout": LAYOUT,
        "code": code(),
        "scenario": base,
        "reading": asdict(reading),
        "trace": [_digest(file) for file in scenario.files],
        "drives": {drive: _drive_digest(drive) for drive in sorted(drives)},
    }
    keys = [key for key, _ in words]
    hashes = []
    for combination in itertools.product(*(several for _, several in words)):
        told = {**shared, "vary": list(zip(keys, combination, strict=True))}
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        hashes.append(hashlib.sha256(text.encode()).hexdigest())
    return hashes


def code() -> str:
    """Identifies the engine's code: by its commit if that says all, else by the compiled module.

    The version is the same for many commits, and the commit for many changes not yet committed.
    """
    if _native.is_committed:
        return _native.__build__
    return f"{_native.__build__} {_module_digest()}"


@functools.cache
def _module_digest() -> str:
    file = _native.__file__
    assert file is not None, "an extension module is a file"
    return _digest(file)


def _digest(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{file}: {error}") from error


def _drives(base: dict[str, Any], words: list[tuple[str, list[str]]]) -> set[str]:
    """The drives of a grid, as they are named."""
    varied = (one for key, several in words if key == "drive" for one in several)
    return {base["drive"]["name"], *varied}


def drive_files(scenario: Scenario, words: list[tuple[str, list[str]]]) -> list[str]:
    """Drives of a grid that are described in files."""
    base = json.loads(_native.scenario_json(scenario.to_toml(), ""))
    names = sorted(drive.split(":")[0] for drive in _drives(base, words))
    return [name for name in names if _is_file(name)]


def _is_file(name: str) -> bool:
    return name.endswith(".toml") or "/" in name


def _drive_digest(drive: str) -> str | None:
    """The digest of a drive's file; None for a drive of the catalog, which is part of the code."""
    name = drive.split(":")[0]
    return _digest(name) if _is_file(name) else None
