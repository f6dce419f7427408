"""Executors of a sweep, as its caller names them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Protocol

from ..arguments import whole
from ..errors import config_error

_ALLOWED = (
    '"threads", "processes", a concurrent.futures executor, a distributed.Client, '
    "or a nearslot.RayExecutor"
)


class Client(Protocol):
    """What gives an executor when asked: a ``distributed.Client``."""

    def get_executor(self) -> Executor:
        """An executor that runs on the client's cluster."""


@contextlib.contextmanager
def opened(executor: str | Executor | Client, workers: int | None) -> Iterator[Executor]:
    """The executor that was named; one made here is shut down here, after an error at once."""
    if workers is not None and not isinstance(executor, str):
        raise config_error("workers", workers, "nothing beside an executor of your own")
    if workers is not None:
        workers = whole("workers", workers, least=1)
    if isinstance(executor, Executor):
        yield executor
        return
    if executor == "threads":
        own: Executor = ThreadPoolExecutor(workers or os.cpu_count())
    elif executor == "processes":
        # A forked copy of a process with threads can deadlock, so each worker is started anew.
        own = ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), initializer=_end_at_ctrl_c
        )
    elif not isinstance(executor, str) and hasattr(executor, "get_executor"):
        own = executor.get_executor()
    else:
        raise config_error("executor", repr(executor), _ALLOWED)
    try:
        yield own
    except BaseException:
        own.shutdown(wait=False)
        raise
    own.shutdown()


def _end_at_ctrl_c() -> None:
    """Lets Ctrl-C end a worker silently: the main process gets it, too, and reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
