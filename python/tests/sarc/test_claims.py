"""Each claim of the study is decided on numbers that are as published, and each fault is seen.

No engine runs. Response times are those of table II; what the paper only draws follows its text. A
fault changes some numbers, as a fault of a policy, of the prefetcher or of the write buffer would.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from claims import SEEDS, Claims, ClaimTests, Fault, leveled, scaled, swapped
from nearslot.experiments import ClaimVerdict
from nearslot.experiments.sarc import (
    STUDY,
    anomaly,
    fig7,
    neighbours,
    scaling,
    sensitivity,
    workload,
)
from nearslot.experiments.sarc.published import TABLE
from nearslot.experiments.sarc.setup import (
    BOTTOM,
    CONFIGURATIONS,
    POLICIES,
    QUICK_LOADS,
    SARC,
    TOP,
)
from nearslot.experiments.table import Row, Table

TOP_IOPS = {of.name: of.top_iops for of in CONFIGURATIONS}

TWICE = "cache of twice the size"


def of_table() -> list[Row]:
    """Table II, and what figures 6 to 8 say in words."""
    staged = {TOP: 1.2, BOTTOM: 1.3, SARC: 1.0}
    shares = {TOP: 0.6, BOTTOM: 0.1, SARC: 0.3}
    ratios = {TOP: 0.1, BOTTOM: 5.0, SARC: 1.0}
    rows: list[Row] = []
    for name, loads in TABLE.items():
        for load, row in loads.items():
            iops = TOP_IOPS[name] * load / 100
            for policy, (read, write) in row.items():
                overall = 0.4 * read + 0.6 * write
                rows.append(
                    {
                        "of": "table2",
                        "configuration": name,
                        "load": load,
                        "policy": policy,
                        "=read_ms": read,
                        "=write_ms": write,
                        "=overall_ms": overall,
                        "=iops": iops,
                        "=power": iops / overall,
                        "=staged": iops * staged[policy],
                        "=staged_ahead": iops / 4,
                        "=wasted": 0.1,
                        # With load SARC gives sequences more.
                        "=sequences": shares[policy] * (0.5 + load / 200),
                        "=ratio": ratios[policy],
                    }
                )
    return rows


def of_sizes() -> list[Row]:
    """The same, and fixed sizes, each of which is good in one configuration."""
    rows = of_table()
    for kind, sizes in ((fig7.FIXED, fig7.SHARES), (fig7.RESIDENCE, fig7.DEPTHS)):
        for name, best in (("CS", 30), ("CI", 5)):
            for load in fig7.FIXED_LOADS:
                sarc = TABLE[name][load][SARC][0]
                for size in sizes:
                    behind = abs(size - best) / 100
                    rows.append(
                        {
                            "of": "fixed",
                            "configuration": name,
                            "load": load,
                            "policy": kind,
                            "size": size,
                            "=read_ms": sarc * (1 + behind),
                            "=sequence_misses": max(0.0, 100.0 - 2 * size),
                            "=sequences": size / 100,
                            "=staged": 100.0 + size,
                        }
                    )
    return rows


def of_anomaly() -> list[Row]:
    """Misses fall with size with the remedy, and rise once without."""
    rows: list[Row] = [
        {
            "of": "sizes",
            "remedy": remedy,
            "size": size,
            "misses": 100 - size / 2 + (20 if remedy == "false" and 80 < size < 90 else 0),
        }
        for remedy in ("false", "true")
        for size in anomaly.SIZES
    ]
    group = anomaly.STEPS / (anomaly.DEGREE + 1)
    for streams in (1, anomaly.STREAMS):
        rows.append({"of": "ample", "mode": "sync", "streams": streams, "misses": group})
        rows.append({"of": "ample", "mode": "both", "streams": streams, "misses": streams})
    return rows


def of_load() -> list[Row]:
    shares = {f"=stream {name}": share for name, share in workload.STREAMS.items()}
    mix = {f"={name}": share for name, share in {**workload.MIX, **workload.READS}.items()}
    return [{"configuration": of.name, "=rps": 50.0, **shares, **mix} for of in CONFIGURATIONS]


def of_saturation() -> list[Row]:
    sustained = {"CS": (800, 900, 960), "CI": (420, 400, 440)}
    return [
        {"configuration": name, "policy": policy, "=sustained_bsu": bsu, "=written_buffers": 20.0}
        for name, all_of in sustained.items()
        for policy, bsu in zip(POLICIES, all_of, strict=True)
    ]


def of_variants() -> list[Row]:
    names = [sensitivity.BASE, "bottom_percent=0.5", "threshold=3"]
    names += [f"{sensitivity.CACHE} {size}" for size in sensitivity.SIZES]
    return [
        {**row, "variant": name, "=staged": row["=staged"] * (1 + at / 100)}
        for at, name in enumerate(names)
        for row in of_table()
        if row["load"] in sensitivity.LOADS
    ]


def of_scales() -> list[Row]:
    return [
        {**row, "part": part}
        for part in (scaling.SMALL, scaling.LARGE)
        for row in of_table()
        if row["load"] == scaling.LOAD
    ]


def of_neighbours() -> list[Row]:
    """Loads as published beside that of STOW; SIEVE a little behind."""
    sustained = dict(zip(neighbours.BUFFERS, (1.0, 1.39, 1.70, 1.96), strict=True))
    rows: list[Row] = [
        {"of": "buffers", "policy": name, "=sustained_bsu": 60 / less, "=written_buffers": 20.0}
        for name, less in sustained.items()
    ]
    for mix in neighbours.MIXES:
        for size in neighbours.SIZES:
            for cache, times in ((neighbours.SIEVE, 1.1), (neighbours.SARC, 1.0)):
                marks = {"of": "mixes", "mix": mix, "size": size, "policy": cache}
                rows.append({**marks, "=response_ms": 9.0 * times, "=missed": 0.4 * times})
    return rows


MODELS: dict[str, Callable[[], list[Row]]] = {
    "sarc-workload": of_load,
    "sarc-anomaly": of_anomaly,
    "sarc-table2": of_table,
    "sarc-fig6": of_table,
    "sarc-fig7": of_sizes,
    "sarc-saturation": of_saturation,
    "sarc-sensitivity": of_variants,
    "sarc-scale": of_scales,
    "sarc-neighbours": of_neighbours,
}
CLAIMS = Claims(study=STUDY, tables=MODELS, untabled=frozenset({"sarc-own"}))


FAULTS: list[tuple[str, Fault]] = [
    ("A03", leveled("misses", 30, mode="sync")),
    ("A04", scaled("misses", 2, mode="both")),
    ("A05", leveled("misses", 50, remedy="false")),
    # The remedy is off.
    ("A06", scaled("misses", 1.5, remedy="true", size=90)),
    ("A07", scaled("sequence_misses", 3.0, size=30)),
    ("A16", scaled("overall_ms", 1.3, policy=SARC, variant="bottom_percent=0.5")),
    ("A18", scaled("overall_ms", 3.0, policy=SARC, configuration="CI", load=95)),
    ("B01", scaled("overall_ms", 0.2, policy=TOP, configuration="CS")),
    ("B01", swapped("policy", TOP, BOTTOM)),
    ("B01o", scaled("overall_ms", 2.0, policy=SARC, load=90)),
    ("B02", swapped("policy", TOP, BOTTOM)),
    ("B02", scaled("overall_ms", 1.3, policy=SARC, load=100)),
    ("B02o", scaled("overall_ms", 0.5, policy=BOTTOM, load=80)),
    ("B03", scaled("read_ms", 2.0, policy=BOTTOM, load=10)),
    ("B04", scaled("read_ms", 0.8, policy=BOTTOM, load=80)),
    ("B05", scaled("read_ms", 1.5, policy=SARC)),
    ("B06", leveled("write_ms", 0.18)),
    ("B07", scaled("read_ms", 1.15, policy=SARC)),
    ("B08", leveled("write_ms", 0.18)),
    ("B09", scaled("read_ms", 1.3, policy=SARC, configuration="CI", load=50)),
    ("B10", scaled("read_ms", 0.15, policy=TOP, configuration="CS")),
    ("B11", leveled("write_ms", 0.18)),
    ("B12", scaled("write_ms", 1.1, policy=TOP, load=10)),
    ("B13", scaled("read_ms", 0.7, policy=TOP, load=10)),
    ("B14", scaled("read_ms", 1.1, policy=TOP, load=10)),
    ("B15", scaled("sustained_bsu", 0.5, configuration="CS")),
    ("B16", scaled("overall_ms", 0.6, policy=BOTTOM)),
    ("B17", scaled("overall_ms", 0.5, policy=BOTTOM, variant="cache of half the size")),
    ("B17", scaled("overall_ms", 1.4, policy=SARC, configuration="CI", variant=TWICE)),
    ("B16s", scaled("sustained_bsu", 0.9, policy=SARC, configuration="CI")),
    ("C02", scaled("power", 0.9, policy=SARC)),
    ("C03", scaled("power", 1.1, policy=TOP)),
    ("C04", scaled("power", 0.8, policy=SARC, load=80)),
    ("C05", scaled("power", 2.5, policy=BOTTOM, load=90)),
    ("D02", scaled("staged", 1.25, policy=SARC, load=50)),
    ("E01", swapped("policy", SARC, BOTTOM)),
    # The boundary does not move: sequences have as much at any load.
    ("E02", leveled("sequences", 0.3, policy=SARC)),
    # The counter of tracks is never set: no sequence is ever missed.
    ("E03", leveled("ratio", 0.0)),
    ("E03", scaled("ratio", 3.0, policy=SARC, load=95)),
    ("E04", leveled("read_ms", 2.0)),
    ("E04b", scaled("read_ms", 1.2, policy=fig7.FIXED)),
    ("E05", leveled("read_ms", 2.0)),
    ("N04", scaled("sustained_bsu", 0.7, policy="stow")),
    ("N04", scaled("sustained_bsu", 1.3, policy="wow")),
    ("N04", scaled("sustained_bsu", 1.2, policy="cscan")),
    ("N06", scaled("response_ms", 0.9, policy=neighbours.SIEVE, mix="scans", size="3%")),
    ("N06", scaled("missed", 0.9, policy=neighbours.SIEVE, mix="zipf_streams", size="10%")),
    # What several arrays share costs something.
    ("SCALE", scaled("overall_ms", 1.1, part=scaling.LARGE, policy=SARC, configuration="CI")),
    ("SCALEo", scaled("overall_ms", 0.9, part=scaling.LARGE, policy=TOP)),
    ("F01", scaled("random reads", 1.05)),
    ("F02", scaled("rps", 1.02, configuration="CI")),
    ("F04", scaled("stream 1-4", 0.95)),
    ("F06", scaled("walk", 0.97)),
]


class TestClaims(ClaimTests):
    claims = CLAIMS
    faults = FAULTS


def test_noise_makes_no_verdict() -> None:
    """Numbers that scatter widely leave the orders undecided."""
    table = Table(
        {
            **{key.removeprefix("="): value for key, value in row.items()},
            "seed": seed,
            "overall_ms": row["=overall_ms"] * (1 + 0.9 * (seed - 2) * side),
        }
        for row in of_table()
        for seed in SEEDS
        for side in [1 if row["policy"] == SARC else -1]
    )
    for name in ("B01o", "B02o"):
        assert CLAIMS.statements[name][1].judge(table).verdict is ClaimVerdict.UNDECIDED, name


def test_the_table_is_told_side_by_side() -> None:
    told = CLAIMS.judged("T2").told
    line = next(line for line in told.splitlines() if line.startswith("CS ") and " 100 % " in line)
    assert line.count("1.00 / 1.00") == 3
    assert "41.70 / 27.78" in line


def test_runs_that_fill_no_write_buffer_decide_nothing() -> None:
    found = CLAIMS.judged("N04", leveled("sustained_bsu", 1e3))
    assert found.verdict is ClaimVerdict.UNTESTABLE


@pytest.mark.parametrize("name", ["N04", "B15", "B16s"])
def test_runs_of_which_a_write_buffer_holds_most_decide_nothing(name: str) -> None:
    """All buffers take the same load then, which says nothing of their policies."""

    def short(rows: list[Row]) -> None:
        leveled("sustained_bsu", 65.2)(rows)
        leveled("written_buffers", 1.8)(rows)

    found = CLAIMS.judged(name, short)
    assert found.verdict is ClaimVerdict.UNTESTABLE
    assert "they write 1.8 times what a buffer holds" in found.checks[0].told()


OF_CACHES = [
    *("A07", "A16", "A18", "B01", "B01o", "B02", "B02o", "B03", "B04", "B05", "B06", "B07"),
    *("B08", "B09", "B10", "B11", "B12", "B13", "B14", "B17", "C02", "C03", "C05", "D02", "E01"),
    *("E02", "E03", "E04", "E04b", "E05", "SCALEo"),
]


@pytest.mark.parametrize("name", OF_CACHES)
def test_runs_that_cannot_fill_the_cache_decide_nothing(name: str) -> None:
    found = CLAIMS.judged(name, leveled("sequences", 0.0))
    assert found.verdict is ClaimVerdict.UNTESTABLE
    assert all("too short to fill" in check.told() for check in found.checks)


@pytest.mark.parametrize("name", [one for one in OF_CACHES if one not in ("E02", "E03")])
def test_runs_that_all_stage_the_same_decide_nothing(name: str) -> None:
    """Caches that were filled at the very end did the same until then."""
    found = CLAIMS.judged(name, leveled("staged", 1.0))
    assert found.verdict is ClaimVerdict.UNTESTABLE


def test_that_one_cache_is_filled_is_enough() -> None:
    found = CLAIMS.judged("B13", scaled("sequences", 0.0, policy=TOP))
    assert found.verdict is ClaimVerdict.HOLDS


def test_variants_of_which_nothing_is_seen_are_told_so() -> None:
    told = CLAIMS.judged("SC", scaled("sequences", 0.0, variant="threshold=3")).told
    assert "of 20 signs as published, 4 not seen, as caches were hardly filled" in told
    line = next(line for line in told.splitlines() if "threshold=3:" in line)
    assert line.count(" not seen") == 4
    assert "%" not in line


def test_a_load_that_was_not_run_decides_nothing() -> None:
    def quick(rows: list[Row]) -> None:
        rows[:] = [row for row in rows if row["load"] in QUICK_LOADS]

    found = CLAIMS.judged("C05", quick)
    assert found.verdict is ClaimVerdict.UNTESTABLE
    assert "no run has 90 % of the top load" in found.checks[0].told()


def test_a_response_that_nobody_reaches_moves_no_curve() -> None:
    found = CLAIMS.judged("B16", leveled("overall_ms", 5.0))
    assert found.verdict is ClaimVerdict.UNTESTABLE
    assert "neither reaches twice the response" in found.checks[0].told()
