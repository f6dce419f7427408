"""Figure 5: throughput of the eager-writing schedulers by the share of reads, queue of 64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from . import eager
from .eager import PUBLISHED, Sweep, overheads, sweeps
from .ew_fig4 import Verdict, decide
from .figures import lines
from .frame import Claim, Experiment, Options, Outcome, percent, ratios
from .page import Chart

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
QUICK = (0.0, 0.1, 0.4, 0.5, 0.9, 0.95, 1.0)
FREE_BANDWIDTH = [name for name in PUBLISHED.values() if name.startswith("freebw")]


def _satf_ew_everywhere(sweep: Sweep) -> tuple[str, float | None, bool | None]:
    behind = {
        share: ratios(sweep.by_seed("satf_ew", share), sweep.by_seed(sweep.best(share), share))
        for share in sweep.values()
    }
    worst = min(behind, key=lambda share: behind[share].value)
    found = f"at most {percent(behind[worst])} against the best, at a read share of {worst:g}"
    return found, behind[worst].ci, behind[worst].value >= -0.08


def _scan_worst_with_reads(sweep: Sweep) -> tuple[str, float | None, bool | None]:
    shares = [share for share in sweep.values() if share >= 0.9]
    behind = {
        share: ratios(sweep.by_seed("freebw_scan", share), sweep.by_seed("satf_ew", share))
        for share in shares
    }
    least = max(behind, key=lambda share: behind[share].value)
    lowest = all(
        min(PUBLISHED.values(), key=lambda name: sweep.mean(name, share).value) == "freebw_scan"
        for share in shares
    )
    told = ", ".join(f"{percent(behind[share])} at {share:g}" for share in shares)
    found = f"FreeBW-SCAN against SATF-EW: {told}"
    return found, behind[least].ci, lowest and behind[least].value <= -0.15


def _meet_satf(sweep: Sweep) -> tuple[str, float | None, bool | None]:
    others = [name for name in PUBLISHED.values() if name != "freebw_scan"]
    apart = [ratios(sweep.by_seed(name, 1.0), sweep.by_seed("satf", 1.0)) for name in others]
    farthest = max(apart, key=lambda mean: abs(mean.value))
    near = [sweep.mean(name, 0.95).value for name in others]
    spread = max(near) / min(near) - 1
    found = f"{percent(farthest)} against SATF at 1.0; {spread * 100:.1f} % apart at 0.95"
    return found, farthest.ci, abs(farthest.value) <= 0.01 and spread <= 0.05


def _few_reads(sweep: Sweep) -> tuple[str, float | None, bool | None]:
    shares = [share for share in sweep.values() if 0 < share <= 0.2]
    behind = {
        (name, share): ratios(sweep.by_seed(name, share), sweep.by_seed("satf_ew", share))
        for name in FREE_BANDWIDTH
        for share in shares
    }
    least = max(behind, key=lambda point: behind[point].value)
    found = f"at least {percent(behind[least])} against SATF-EW, {least[0]} at {least[1]:g}"
    return found, behind[least].ci, behind[least].value <= -0.05


def _modest_share(sweep: Sweep) -> tuple[str, float | None, bool | None]:
    leads = {
        share: ratios(sweep.by_seed("freebw_hybrid", share), sweep.by_seed("satf_ew", share))
        for share in sweep.values()
        if 0.4 <= share <= 0.5
    }
    least = min(leads, key=lambda share: leads[share].value)
    best = all(sweep.best(share) == "freebw_hybrid" for share in leads)
    told = ", ".join(f"{percent(lead)} at {share:g}" for share, lead in leads.items())
    return f"FreeBW-Hybrid against SATF-EW: {told}", leads[least].ci, best


def _coincide(sweep: Sweep) -> tuple[str, float | None, bool | None]:
    without = [sweep.mean(name, 0.0).value for name in PUBLISHED.values()]
    spread = max(without) / min(without) - 1
    return f"{spread * 100:.2f} % apart at 0", None, spread <= 0.005


CLAIMS: list[tuple[str, str, str, Verdict]] = [
    ("D7", "SATF-EW works well at all read shares", "no number (section 4)", _satf_ew_everywhere),
    (
        "D8",
        "FreeBW-SCAN's deficit is largest at high read shares",
        "no number (section 4)",
        _scan_worst_with_reads,
    ),
    (
        "D9",
        "All but FreeBW-SCAN approach SATF as the read share goes to 1",
        "no number (section 4)",
        _meet_satf,
    ),
    (
        "D10",
        "For few but some reads the free-bandwidth methods lose to SATF-EW",
        "no number (section 4)",
        _few_reads,
    ),
    (
        "D11",
        "With a modest share of reads FreeBW-Hybrid is best",
        "no number (section 4)",
        _modest_share,
    ),
    ("D12", "Without reads all four coincide", "derived from the algorithms", _coincide),
]


def _bounds(options: Options, overhead_ms: float) -> Claim:
    """D13: what the two naive bounds do to the other class."""
    schedulers = ["write_first", "read_first", "satf_ew"]
    sweep = sweeps("read_share", options, [overhead_ms], schedulers, [0.5], depth=64)[overhead_ms]
    starved = sweep.mean("write_first", 0.5, "read_wait_ms_max").value
    usual = sweep.mean("satf_ew", 0.5, "read_wait_ms_max").value
    writes = sweep.mean("read_first", 0.5, "write_wait_ms_mean").value
    few = sweep.mean("satf_ew", 0.5, "write_wait_ms_mean").value
    return Claim(
        id="D13",
        statement="Write-first can starve reads; read-first penalises writes",
        published="no number (section 4)",
        found=f"longest read wait under write-first {starved:.0f} ms (SATF-EW {usual:.0f} ms); "
        f"mean write wait under read-first {writes:.0f} ms (SATF-EW {few:.1f} ms)",
        holds=writes > 10 * few,
        note="a finite run cannot show that a wait has no bound: the verdict is about the second "
        "half; reads and writes half and half, depth 64",
    )


def _leans_to_writes(options: Options, overhead_ms: float) -> Claim:
    """D14: with much space and many writes no write waits under SATF-EW."""
    sweep = sweeps(
        "read_share", options, [overhead_ms], ["satf_ew"], [0.2], dilution=4.0, depth=64
    )[overhead_ms]
    reads = sweep.mean("satf_ew", 0.2, "read_wait_ms_mean")
    writes = sweep.mean("satf_ew", 0.2, "write_wait_ms_mean")
    return Claim(
        id="D14",
        statement="SATF-EW leans to write-first with much free space and many writes",
        published="no number (section 4)",
        found=f"mean wait of writes {writes.value:.1f} ms, of reads {reads.value:.0f} ms",
        ci=writes.ci,
        holds=writes.value < reads.value / 20,
        note="dilution 4 unless told otherwise, read share 0.2, depth 64",
    )


def _measure(options: Options, overheads_ms: Sequence[float]) -> dict[float, Sweep]:
    """Sweeps of the figure, with SATF where there is nothing but reads."""
    shares = QUICK if options.quick else SHARES
    found = sweeps("read_share", options, overheads_ms, PUBLISHED.values(), shares, depth=64)
    peers = sweeps("read_share", options, overheads_ms, ["satf"], [1.0], depth=64)
    for overhead, peer in peers.items():
        found[overhead].rows.update(peer.rows)
    return found


def run(options: Options) -> Outcome:
    """Runs the grid at every overhead and decides the claims."""
    found = _measure(options, overheads(options))
    probe = partial(_measure, eager.probing(options))
    most = max(found)
    return Outcome.of(
        options,
        experiment="ew-fig5",
        claims=[
            *decide(CLAIMS, found, options, probe),
            _bounds(options, most),
            _leans_to_writes(options, most),
        ],
        runs=[row for sweep in found.values() for row in sweep.rows.values()],
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Throughput over the share of reads, as in the paper."""
    lines(
        outcome,
        path,
        axis="read_share",
        label="share of reads",
        title="queue length 64, dilution 2",
        names={**PUBLISHED, "SATF": "satf"},
    )


EXPERIMENT = Experiment(
    name="ew-fig5",
    question="Which eager-writing scheduler gives the highest throughput at each share of reads?",
    source=f"{eager.SOURCE}, figure 5",
    run=run,
    draw=draw,
    chart=Chart(
        axis="read_share",
        label="share of reads",
        setup="a queue of 64",
        names={**PUBLISHED, "SATF": "satf"},
    ),
)
