"""Something to know before believing numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Warning:  # noqa: A001 (the engine's word for it; the module is not for star imports)
    """Something to know before believing numbers; `str` of it is as people read it.

    Attributes:
        kind: What it is about, for programs, such as ``queue-grew``.
        run: The label of the run that it is about; None if it is about all, or about the trace.
        text: What, why, and what helps.
    """

    kind: str
    run: str | None
    text: str

    def __str__(self) -> str:
        """Behind the label of the run that it is about."""
        return self.text if self.run is None else f"{self.run}: {self.text}"
