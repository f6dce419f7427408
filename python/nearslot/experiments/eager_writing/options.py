"""What may be asked of the experiments of eager writing."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import config_error
from ..frame import OverheadOptions, option


@dataclass(frozen=True, kw_only=True)
class Options(OverheadOptions):
    """Options of the study.

    Attributes:
        dilution: Slots per block of the volume; None is the published value.
    """

    dilution: float | None = option(None, float, "dilution in place of the published one")

    def __post_init__(self) -> None:
        """Refuses what no run can have."""
        super().__post_init__()
        if self.dilution is not None and self.dilution < 1.001:
            raise config_error("dilution", self.dilution, "at least 1.001")
