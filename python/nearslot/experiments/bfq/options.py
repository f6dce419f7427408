"""What may be asked of the experiments of BFQ: the devices, which the pages name by maker alone."""

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
        hitachi: The disk that stands for the HITACHI of the pages.
        seagate: The same for the SEAGATE.
        plextor: The same for the PLEXTOR.
        fast: A fast flash drive, for the claims about a Samsung 970 PRO.
        limit_s: How long a start-up may take; one that takes longer is an X.
        memory: The page cache of the host.
    """

    QUICK: ClassVar[Mapping[str, int]] = {"seeds": 2}

    hitachi: str = option("hitachi-7200-90mb", str, "drive for the HITACHI")
    seagate: str = option("seagate-7200-125mb", str, "drive for the SEAGATE")
    plextor: str = option("plextor-px-256m5s", str, "drive for the PLEXTOR")
    fast: str = option("nvme-tlc-1tb", str, "a fast flash drive")
    limit_s: float = option(60.0, float, "seconds after which a start-up is an X")
    memory: str = option("4GiB", str, "the page cache of the host")

    def __post_init__(self) -> None:
        """Refuses what no run can have; the parts of a run refuse what they cannot be."""
        super().__post_init__()
        if not 1 <= self.limit_s <= 3600:
            raise config_error("limit-s", self.limit_s, "1 to 3600")


READS = frozenset({"hitachi", "seagate", "plextor", "fast", "limit_s", "memory"})
"""Options that the experiments go by: lengths of runs are times, so `requests` is none of them."""
