"""The independent model of the same drive: one-sector writes, milliseconds a write.

Its group lies at the outer edge, and 0.64 ms pass before the arm moves, which no number contains.
"""

from __future__ import annotations

from .setup import DISK, GROUP, PLACE, TRACK

QUEUES = {
    (DISK, PLACE): {1: (12.1, 5.56), 4: (9.9, 3.0), 16: (8.5, 2.1), 64: (7.1, 1.4)},
    (DISK, TRACK): {1: (12.1, 0.07), 4: (9.2, 0.07), 16: (7.0, 0.07), 64: (5.5, 0.07)},
    (DISK, GROUP): {1: (12.0, 0.06), 4: (9.0, 0.06), 16: (6.8, 0.06)},
    (GROUP, PLACE): {1: (3.2, 5.5), 4: (2.8, 2.6), 16: (2.1, 1.2), 64: (1.3, 0.8)},
    (GROUP, TRACK): {1: (3.2, 0.05), 4: (2.2, 0.05), 16: (1.4, 0.05), 64: (0.7, 0.05)},
}
"""Seek and rotation by span, range and requests to choose from."""

SUMS = {
    (DISK, PLACE): {1: 17.8, 4: 13.1, 16: 10.7, 64: 8.6},
    (DISK, TRACK): {1: 12.3, 4: 9.4, 16: 7.2, 64: 5.7},
    (DISK, GROUP): {1: 12.2, 4: 9.2, 16: 7.0},
    (GROUP, PLACE): {1: 8.8, 4: 5.5, 16: 3.5, 64: 2.2},
    (GROUP, TRACK): {1: 3.4, 4: 2.3, 16: 1.5, 64: 0.8},
    (GROUP, GROUP): {1: 0.17, 4: 0.17, 16: 0.17, 64: 0.17},
}
"""Seek, rotation and transfer together."""

MIDDLE = {PLACE: 9.0, TRACK: 3.5, GROUP: 0.15}
"""The same for a group in the middle of the drive, one request at a time."""

TARGETS = (1, 2, 4, 8, 16, 32, 64)
OF_TARGETS = {
    PLACE: (8.9, 6.8, 5.2, 4.0, 3.1, 2.4, 1.8),
    "100": (3.3, 2.6, 2.0, 1.4, 1.0, 0.7, 0.3),
}
"""Seek and rotation of a write with so many targets, each a block or 100 blocks long."""

READ_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
OF_READS = {
    (1, PLACE): (8.8, 8.6, 8.4, 8.2, 8.2),
    (1, TRACK): (3.3, 4.5, 5.7, 7.1, 8.1),
    (16, PLACE): (3.3, 3.2, 3.1, 2.9, 2.7),
    (16, TRACK): (1.4, 1.7, 2.1, 2.4, 2.7),
}
"""Seek and rotation with so many reads mixed in, by requests to choose from and range."""
