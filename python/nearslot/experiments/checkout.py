"""Recorded traces that a checkout of the sources has and an installed package lacks."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
TPCC = CHECKOUT / "crates" / "lab" / "tests" / "data" / "hitrate" / "tpcc_small.csv"
"""Sixteen volumes of a database that runs TPC-C, 137 ms, by MQSim."""
POSTGRES = CHECKOUT / "demo" / "postgres-and-build.perf.txt.gz"
"""A database beside a build, six seconds."""
