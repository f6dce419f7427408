"""What may be asked of the experiments of range writes: what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...errors import config_error
from ..frame import Options as Common
from ..frame import option


@dataclass(frozen=True, kw_only=True)
class Options(Common):
    """Options of the study.

    Attributes:
        group_block: Where the block group lies.
        middle_block: Where it lies for the claim that this changes little: the middle cylinder.
        track_blocks: Blocks of a track at `group_block`.
        command_ms: What a write takes before the arm moves, beside mechanics alone.
        fixed_ms: What a write costs the drive besides mechanics and data, one cost after the other.
        bus_ms: What a block of its data costs.
        transactions: Transactions of each run of the journal.
        journal_drive: The drives of the journal and of its tables.
        journal_block: Where the journal lies.
        journal_track_blocks: Blocks of a track there.
        ext2_group_blocks: 4-KiB blocks of a group of the file system; the paper does not say.
        tree_files: Files of the source tree that is unpacked.
        modern: A drive of today.
        modern_track_blocks: Blocks of a track at its outer edge.
    """

    QUICK: ClassVar[Mapping[str, int]] = {
        "requests": 2_000,
        "seeds": 2,
        "transactions": 2_000,
        "tree_files": 1_000,
    }

    drive: str = option("hp-c2247a", str, "drive of the catalog or TOML file")
    requests: int = option(6_000, int, "requests of each run")
    group_block: int = option(0, int, "first block of the block group")
    middle_block: int = option(1_233_212, int, "first block of a group at the middle cylinder")
    track_blocks: int = option(96, int, "blocks of a track where the group begins")
    command_ms: float = option(0.64, float, "what a write takes before the arm moves")
    fixed_ms: float = option(1.484, float, "all fixed costs of a write, beside its data")
    bus_ms: float = option(0.18686, float, "what a block takes on the bus")
    transactions: int = option(20_000, int, "transactions of each run of the journal")
    journal_drive: str = option("desktop-7200-90mb", str, "drives of journal and tables")
    journal_block: int = option(1_658_823_000, int, "where the journal lies")
    journal_track_blocks: int = option(998, int, "blocks of a track there")
    ext2_group_blocks: int = option(32_768, int, "4-KiB blocks of a group of the file system")
    tree_files: int = option(20_000, int, "files of the source tree that is unpacked")
    modern: str = option("modern-20tb", str, "a drive of today")
    modern_track_blocks: int = option(5_040, int, "blocks of an outer track of that")

    def __post_init__(self) -> None:
        """Refuses what no run can have; the parts of a run refuse what they cannot be."""
        super().__post_init__()
        # With fewer the journal never comes to its end, and without its I/O there is none.
        if self.transactions < 2_000:
            raise config_error("transactions", self.transactions, "at least 2000")
        for key in ("track_blocks", "journal_track_blocks", "modern_track_blocks"):
            value = getattr(self, key)
            if value < 8:
                raise config_error(key.replace("_", "-"), value, "at least 8")
        if not 1 <= self.tree_files <= 1_000_000:
            raise config_error("tree-files", self.tree_files, "1 to 1000000")
        for key in ("command_ms", "fixed_ms", "bus_ms"):
            value = getattr(self, key)
            if not 0 <= value <= 100:
                raise config_error(key.replace("_", "-"), value, "0 to 100")
