"""Pyarrow, which only sweeps need; it is imported when one begins."""

from __future__ import annotations

from types import ModuleType

from ..errors import ConfigError


def arrow_module() -> ModuleType:
    """The module, or an error that says how to install it."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        told = "nearslot.sweep needs pyarrow: pip install 'nearslot[sweep]'"
        raise ConfigError(told, "pyarrow", allowed="an installed pyarrow") from error
    module: ModuleType = pyarrow
    return module
