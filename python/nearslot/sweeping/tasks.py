"""Runs tasks on the executor and keeps each row as soon as it arrives, whatever happens next."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from ..errors import Interrupted, NearslotError, WorkerError
from .grid import Grid, Task
from .rows import Rows
from .table import Swept, table_of
from .work import run_task


class _WorkerFailedError(Exception):
    """An executor did not bring a task to its end."""


def run_missing(
    grid: Grid,
    rows: Rows,
    pool: Executor,
    tasks: list[Task],
    report: Callable[[int, int], object],
    path: Path,
) -> None:
    """Runs the tasks and keeps their rows as they come."""
    planned, futures = len(grid.keys), dict[Future[Any], Task]()

    def stopped() -> str:
        _keep_finished(futures, rows)
        kept = f"{planned - len(rows.missing())} of {planned} runs are finished and kept"
        return f"{kept} in {rows.folder}; call sweep again to go on"

    try:
        report(rows.reused, planned)
        _submit(pool, tasks, futures)
        for future in concurrent.futures.as_completed(list(futures)):
            _keep(future, futures.pop(future), rows)
            report(planned - len(rows.missing()), planned)
    except KeyboardInterrupt as error:
        told = f"interrupted: {stopped()}"
        swept = Swept(path, table_of(grid, rows), planned, rows.reused)
        raise Interrupted(told, swept=swept) from error
    except _WorkerFailedError as error:
        why = f"{type(error.__cause__).__name__}: {error.__cause__}"
        raise WorkerError(f"a worker failed ({why}): {stopped()}") from error.__cause__
    except Exception as error:
        error.add_note(stopped())
        raise


def _submit(pool: Executor, tasks: list[Task], futures: dict[Future[Any], Task]) -> None:
    for task in tasks:
        try:
            future = pool.submit(run_task, task)
        except Exception as error:
            raise _WorkerFailedError from error
        futures[future] = task


def _keep(future: Future[Any], task: Task, rows: Rows) -> None:
    """Keeps the rows of a task that has ended, or raises its error."""
    try:
        found = future.result()
    except Exception as error:
        raise _WorkerFailedError from error
    if isinstance(found, NearslotError):
        raise found
    for point, row in zip(task.points, found, strict=True):
        rows.keep(point, row)


def _keep_finished(futures: dict[Future[Any], Task], rows: Rows) -> None:
    """Cancels tasks that have not begun, and keeps the rows of those that have ended."""
    for future, task in futures.items():
        if not future.done():
            future.cancel()
        elif not future.cancelled():
            # Another error appears again when the sweep is repeated.
            with contextlib.suppress(_WorkerFailedError, NearslotError, KeyboardInterrupt):
                _keep(future, task, rows)
