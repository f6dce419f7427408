"""An executor on Ray, which is imported when the executor is made."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from ..errors import config_error

_P = ParamSpec("_P")
_T = TypeVar("_T")


class RayExecutor(Executor):
    """Runs tasks on Ray, in the cluster that ``ray.init`` connected to, or in one of its own.

    Args:
        retries: How often a task is run again whose worker died.
    """

    def __init__(self, *, retries: int = 3) -> None:
        """Needs ``pip install nearslot[ray]``."""
        try:
            import ray
        except ImportError as error:
            raise config_error("executor", "RayExecutor", "pip install nearslot[ray]") from error
        self._remote: Any = ray.remote(max_retries=retries)(_call)

    def submit(self, task: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Starts a call; a call that has begun cannot be cancelled."""
        future: Future[_T] = self._remote.remote(task, *args, **kwargs).future()
        return future


def _call(task: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    return task(*args, **kwargs)
