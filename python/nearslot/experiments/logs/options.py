"""What may be asked of the study of logs: seeds alone, as its matrix was fixed beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..frame import Options as Common


@dataclass(frozen=True, kw_only=True)
class Options(Common):
    """Options of the study."""

    QUICK: ClassVar[Mapping[str, int]] = {"seeds": 2}
