"""A log whose next write lands where the drive is soonest, held against one in row.

It is no part of the study of range writes, as its whole matrix takes hours.
"""

from __future__ import annotations

from ..frame import Study
from . import matrix
from .options import Options

__all__ = ["STUDY", "Options"]

STUDY = Study(name="logs", options=Options, experiments=(matrix.EXPERIMENT,))
