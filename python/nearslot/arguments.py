"""What arguments may be, looked at before the engine sees them.

The engine takes types of its own, and would say of any other value that it cannot be converted,
without naming the argument. Here an error names the argument, what was given, and what is allowed.
"""

from __future__ import annotations

import math
import operator
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from .errors import config_error

_T = TypeVar("_T")

MOST = 2**63 - 1
"""The largest whole number of a scenario file."""


def flag(key: str, value: object) -> bool:
    """True or False.

    Raises:
        ConfigError: Something else.
    """
    if isinstance(value, bool):
        return value
    raise config_error(key, reprlib.repr(value), "True or False")


def whole(key: str, value: object, *, least: int) -> int:
    """A whole number from `least` on, of whichever type has one.

    Raises:
        ConfigError: Something else.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number <= MOST:
        raise config_error(key, _shown(value), f"a whole number from {least}")
    return number


def finite(key: str, value: object) -> float:
    """A number.

    Raises:
        ConfigError: Something else, or no finite one.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise config_error(key, _shown(value), "a finite number")


def text(key: str, value: object, allowed: str = "a word") -> str:
    """Text that a file can have.

    Raises:
        ConfigError: Something else.
    """
    if isinstance(value, str) and is_utf8(value):
        return value
    raise config_error(key, reprlib.repr(value), allowed)


def texts(key: str, value: object, allowed: str, *, of: str = "value") -> list[str]:
    """One word, or several; `of` says what there is to be one of, at least.

    Raises:
        ConfigError: None at all, or something else.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [text(key, value, allowed)]
    words = [text(key, one, allowed) for one in value]
    if not words:
        raise config_error(key, "[]", f"at least one {of}")
    return words


def path(key: str, value: object) -> str:
    """The name of a file or folder.

    Raises:
        ConfigError: Something else.
    """
    if isinstance(value, str | os.PathLike):
        name = os.fspath(value)
        if isinstance(name, str) and name and is_file_name(name):
            return name
    raise config_error(key, reprlib.repr(value), "the path of a file")


def settings(key: str, value: object) -> dict[str, Iterable[object]]:
    """Values by the keys that take them in turn.

    Raises:
        ConfigError: It is no mapping, or one of other things.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise config_error(key, reprlib.repr(value), "a mapping of keys to lists of values")
    for one, several in value.items():
        text(key, one, "keys that are words")
        if not isinstance(several, Iterable):
            raise config_error(f"{key} {one}", reprlib.repr(several), "a list of values")
    return dict(value)


def maybe(look: Callable[[str, object], _T], key: str, value: object) -> _T | None:
    """What may be left out."""
    return None if value is None else look(key, value)


def is_file_name(name: str) -> bool:
    """Whether a file can have this name, or be looked for by it."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def is_utf8(name: str) -> bool:
    """Whether a file can have this text."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: object) -> str:
    """A number as it is, anything else shortened."""
    return str(value) if isinstance(value, int | float) else reprlib.repr(value)
