"""Kinds of parts: the package has those of the engine, and a new one follows from the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nearslot
from nearslot._kinds import KINDS, Parts

# The module of kinds as the engine's tests make it with one kind more.
WITH_TIERS = Path(__file__).parent / "data" / "kinds_with_tiers.py"

PROGRAM = """
import importlib.util
import sys

spec = importlib.util.spec_from_file_location("nearslot._kinds", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["nearslot._kinds"] = module
spec.loader.exec_module(module)

import nearslot
from nearslot.running import gridded

scenario = nearslot.Scenario(workload="iometer", sched="look", tier="box:mib=8")
assert scenario.parts["tier"] == scenario.tier == "box:mib=8"
assert 'tier = "box:mib=8"' in scenario.to_toml()
assert scenario.replace(tier="none").tier == nearslot.Scenario(workload="iometer").tier == "none"
_, _, grid = gridded(None, None, {"workload": "iometer", "tier": ["none", "box"]})
assert grid == {"tier": ["none", "box"]}, grid
from nearslot.sweeping import grid as of_sweeps

assert "tier" in of_sweeps._COMMON, "its cards say that equal ones share what is prepared"
assert of_sweeps._prepares(scenario, {})
assert of_sweeps._prepares(scenario.replace(tier="none"), {"tier": ["none", "box"]})
assert not of_sweeps._prepares(scenario.replace(tier="none"), {"sched": ["look", "satf"]})
try:
    scenario.to_dict()
except nearslot.ConfigError as error:
    # The engine of this package has no tiers: it got the key, and says so.
    assert "unknown key of scenario `tier`" in str(error), error
else:
    raise AssertionError("the engine has no tiers")
"""


def test_the_package_has_the_kinds_of_the_engine() -> None:
    found = nearslot.Scenario(workload="iometer").to_dict()
    assert tuple(key for key in found if key not in ("seed", "drive", "warmup", "load")) == KINDS
    assert {key: found[key]["name"] for key in KINDS} == Parts().parts


def test_a_part_is_named_by_its_kind() -> None:
    scenario = nearslot.Scenario(workload="iometer", sched="satf", place="mirror:disks=4")
    assert scenario.parts == Parts().parts | {"sched": "satf", "place": "mirror:disks=4"}
    assert scenario.replace(sched="look").parts["sched"] == scenario.replace(sched="look").sched


def test_a_new_kind_follows_from_the_table() -> None:
    command = [sys.executable, "-c", PROGRAM, str(WITH_TIERS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
