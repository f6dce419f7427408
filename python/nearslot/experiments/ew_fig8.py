"""Figures 8 and 9: two arrays of six drives, over the share of writes and over the queue."""

from __future__ import annotations

from itertools import pairwise

from . import arrays
from .arrays import Grid, Loads, ew
from .figures import curves
from .frame import Claim, Experiment, Options, Outcome, percent, ratios

READ_SHARES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
QUEUES = (1, 2, 4, 8, 16, 32)
# While the buffer of delayed copies fills, copies cost nothing: that part is not measured.
FILLED = "50%"
ONE, TWO, MORE = ew(1, 3, 2), ew(2, 1.5, 2), ew(2, 1, 3)


def _similar(grid: Grid, shares: tuple[float, ...]) -> Claim:
    apart = {
        share: ratios(
            grid.by_seed("response_ms", array=TWO.label, read_share=share),
            grid.by_seed("response_ms", array=ONE.label, read_share=share),
        )
        for share in shares
    }
    worst = max(apart, key=lambda share: abs(apart[share].value))
    told = ", ".join(f"{percent(apart[share])} at {share:.0%} reads" for share in shares)
    return Claim(
        id="E5",
        statement="Six drives, dilution 2, queue of one: 1x3x2 and 2x1.5x2 have similar response "
        "times",
        published='"similar"',
        found=f"2x1.5x2 against 1x3x2: {told}",
        ci=apart[worst].ci,
        holds=abs(apart[worst].value) <= 0.15,
        note="similar: within 15 % at each share; where nearly all are writes that is a tenth of a "
        "millisecond",
    )


def _falls(grid: Grid, shares: tuple[float, ...]) -> Claim:
    means = {
        array.label: [
            grid.mean("response_ms", array=array.label, read_share=share) for share in shares
        ]
        for array in (ONE, TWO)
    }
    falls = all(
        less.value < more.value + (less.ci or 0.0)
        for curve in means.values()
        for less, more in pairwise(curve)
    )
    told = "; ".join(
        f"{label} " + " ".join(f"{mean.value:.2f}" for mean in curve)
        for label, curve in means.items()
    )
    return Claim(
        id="E6",
        statement="Response time falls as the share of writes rises",
        published="no number (figure 8)",
        found=f"{told} ms at {', '.join(f'{share:.0%}' for share in shares)} reads",
        holds=falls,
    )


def _emulated() -> Claim:
    return Claim(
        id="E8",
        statement="The simulator matches the prototype closely",
        published="under 3 % of throughput (predecessor)",
        found="nothing",
        note="not testable yet: the engine does not serve real volumes so far",
    )


def run_mix(options: Options) -> Outcome:
    """One request at a time, over the share of reads."""
    shares = (0.0, 0.5, 1.0) if options.quick else READ_SHARES
    grid = Grid()
    grid.run(options, [ONE, TWO], "iometer", {"depth": [1], "read_share": shares})
    return Outcome.of(
        options,
        experiment="ew-fig8",
        claims=[_similar(grid, shares), _falls(grid, shares), _emulated()],
        runs=grid.rows,
    )


def overtakes(grid: Grid, queues: tuple[int, ...]) -> Claim:
    """Whether the array without copies gains on the others."""

    def lead(other: str, queue: int) -> float:
        one = grid.by_seed("throughput_rps", array=ONE.label, queue=queue)
        return ratios(one, grid.by_seed("throughput_rps", array=other, queue=queue)).value

    leads = {array.label: [lead(array.label, queue) for queue in queues] for array in (TWO, MORE)}
    told = "; ".join(
        f"against {label}: " + " ".join(f"{value:+.1%}" for value in found)
        for label, found in leads.items()
    )
    gains = all(found[-1] > 0 and found[-1] > found[0] for found in leads.values())
    return Claim(
        id="E7",
        statement="With longer queues the array without copies overtakes, even one with more "
        "dilution",
        published="no number (figure 9)",
        found=f"throughput of 1x3x2 {told} at {' '.join(map(str, queues))} requests per drive",
        holds=gains,
    )


def run_queue(options: Options) -> Outcome:
    """Half writes, over the queue of each drive."""
    queues = (1, 8, 32) if options.quick else QUEUES
    grid = Grid()
    for queue in queues:
        loads: Loads = {"depth": [6 * queue], "read_share": [0.5]}
        grid.run(options, [ONE, TWO, MORE], "iometer", loads, warmup=FILLED, queue=queue)
    return Outcome.of(
        options,
        experiment="ew-fig9",
        claims=[overtakes(grid, queues)],
        runs=grid.rows,
    )


MIX = Experiment(
    name="ew-fig8",
    question="Do copies or striping serve six drives better as the mix changes, without a queue?",
    source=f"{arrays.SOURCE}, figure 8",
    run=run_mix,
    draw=lambda outcome, path: curves(
        outcome,
        path,
        axis="read_share",
        label="share of reads",
        key="response_ms",
        unit="mean response (ms)",
    ),
)
QUEUE = Experiment(
    name="ew-fig9",
    question="Do copies or striping serve six drives better as queues grow?",
    source=f"{arrays.SOURCE}, figure 9",
    run=run_queue,
    draw=lambda outcome, path: curves(
        outcome,
        path,
        axis="queue",
        label="requests per drive",
        key="throughput_rps",
        unit="throughput (requests/s)",
        logarithmic=True,
    ),
)
