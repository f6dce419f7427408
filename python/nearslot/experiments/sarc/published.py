"""Table II of the paper, response times in ms of reads and writes (USENIX 2005)."""

from __future__ import annotations

from ..table import Row
from .points import point
from .setup import BOTTOM, CONFIGURATIONS, SARC, TOP

READ_SHARE = 0.4
"""Of reads in the overall times that the paper prints."""

TABLE: dict[str, dict[int, dict[str, tuple[float, float]]]] = {
    "CI": {
        10: {TOP: (5.30, 0.18), BOTTOM: (5.15, 0.18), SARC: (5.21, 0.18)},
        50: {TOP: (6.71, 0.26), BOTTOM: (6.77, 0.27), SARC: (6.45, 0.26)},
        80: {TOP: (8.62, 0.92), BOTTOM: (9.74, 1.64), SARC: (8.58, 0.95)},
        90: {TOP: (11.13, 2.45), BOTTOM: (13.98, 4.39), SARC: (8.86, 1.37)},
        95: {TOP: (13.23, 3.81), BOTTOM: (14.79, 5.07), SARC: (10.15, 2.15)},
        100: {TOP: (14.36, 4.79), BOTTOM: (22.72, 10.28), SARC: (12.05, 3.42)},
    },
    "CS": {
        10: {TOP: (2.51, 0.19), BOTTOM: (1.53, 0.19), SARC: (1.54, 0.19)},
        50: {TOP: (3.00, 0.41), BOTTOM: (1.79, 0.38), SARC: (1.76, 0.35)},
        80: {TOP: (5.22, 1.96), BOTTOM: (3.20, 1.58), SARC: (2.38, 0.89)},
        90: {TOP: (12.71, 7.18), BOTTOM: (4.95, 2.92), SARC: (3.34, 1.60)},
        95: {TOP: (24.84, 16.00), BOTTOM: (7.32, 4.69), SARC: (4.06, 2.17)},
        100: {TOP: (41.70, 27.78), BOTTOM: (11.10, 7.46), SARC: (6.77, 4.12)},
    },
}
"""By configuration, load in percent of the top load, and policy."""


def rows() -> list[Row]:
    """The same as rows of a table, with overall times and the paper's scaled loads."""
    return [
        {
            **point(of, load, policy),
            "seed": 1,
            "iops": of.top_iops * load / 100,
            "overall_ms": READ_SHARE * read + (1 - READ_SHARE) * write,
        }
        for of in CONFIGURATIONS
        for load, at in TABLE[of.name].items()
        for policy, (read, write) in at.items()
    ]
