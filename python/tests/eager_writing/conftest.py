"""The drive that experiments of eager writing are tested on."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomli_w

import nearslot

CYLINDERS, HEADS = 200, 4


@pytest.fixture(scope="session")
def small_drive(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The outer cylinders of some heads of a real drive: 38 MB, which are soon aged."""
    table = tomllib.loads(nearslot.show("hp-c2247a").text or "")
    zone = {key: of for key, of in table["zones"][0].items() if key not in ("slips", "spares")}
    # Neither defects nor spares: all tracks are alike.
    del table["sparing"], zone["reserved_sectors_at_front"]
    table |= {
        "description": "The HP C2247A, cut down for tests",
        "cylinders": CYLINDERS,
        "heads": HEADS,
        "seek_ms": [[far, ms] for far, ms in table["seek_ms"] if far < CYLINDERS],
        "zones": [{**zone, "cylinders": [0, CYLINDERS - 1]}],
    }
    path = Path(tmp_path_factory.mktemp("drives")) / "small.toml"
    path.write_text(tomli_w.dumps(table))
    return str(path)
