"""What can go wrong, in the kinds that the command has exit codes for.

A fault inside nearslot itself (a broken assertion) is a ``pyo3_runtime.PanicException``, which
nobody should catch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .capacity import Capacity
    from .results import Results
    from .sweeping import Swept


class NearslotError(Exception):
    """Any of the errors below."""


class ConfigError(NearslotError, ValueError):
    """A scenario or an argument is wrong; found before anything runs.

    Attributes:
        key: The thing that is wrong.
        value: What was given, if anything.
        allowed: What is allowed, in words.
        nearest: The nearest thing that would have been right, if there is one.
    """

    def __init__(
        self,
        message: str,
        key: str,
        value: str | None = None,
        allowed: str = "",
        nearest: str | None = None,
    ) -> None:
        """Keeps the parts of the message for programs."""
        super().__init__(message)
        self.key = key
        self.value = value
        self.allowed = allowed
        self.nearest = nearest

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str | None, ...]]:
        """Lets it cross processes with its attributes."""
        return type(self), (str(self), self.key, self.value, self.allowed, self.nearest)


class InputError(NearslotError):
    """A trace is unfit, or a file cannot be read or written."""


class CheckError(NearslotError):
    """A check came out wrong, such as requests that were never answered."""


class WorkerError(NearslotError):
    """A worker of a sweep was lost, or never began; finished runs are kept."""


class Interrupted(NearslotError, KeyboardInterrupt):  # noqa: N818 (it is no error)
    """Ctrl-C ended the call; it is a ``KeyboardInterrupt`` too.

    Attributes:
        results: The runs that were finished by then; None if there was no time to hand them over.
        swept: The same of a sweep.
        capacity: What a search for a capacity found by then.
    """

    def __init__(
        self,
        message: str,
        results: Results | None = None,
        swept: Swept | None = None,
        capacity: Capacity | None = None,
    ) -> None:
        """Keeps what was finished."""
        super().__init__(message)
        self.results = results
        self.swept = swept
        self.capacity = capacity


def config_error(key: str, value: object, allowed: str) -> ConfigError:
    """An error that reads like those of the engine."""
    return ConfigError(f"{key} = {value} (allowed: {allowed})", key, str(value), allowed)
