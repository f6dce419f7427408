"""Grids too long for one sitting or one machine: `nearslot.sweep`.

A sweep is a `compare` in pieces. The grid is cut into tasks, an executor runs them on whatever it
has, and each run comes back as one row, which is at once kept in a file of its own. When all rows
are there, they become one Parquet file, in the order of the grid.

The idea is that a row depends on nothing but its run. So what a row says about the rest of a
comparison (rank, differences to others) and how long it took is left out; the rest is the same
whoever ran it, beside whatever else, and in whichever order runs were finished. A row's name is the
hash of everything that its run depends on, so a row that is there need not be made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Unpack

from .. import _native, arguments
from ..errors import InputError, config_error
from ..running import scenario_file
from ..scenario import Files, Reading, Scenario, Settings, reading_of
from .arrow import arrow_module
from .executors import Client, opened
from .grid import Grid
from .progress import reporting
from .ray_executor import RayExecutor
from .rows import Rows
from .table import Swept, table_of, write
from .tasks import run_missing

__all__ = ["Client", "RayExecutor", "Swept", "sweep"]


def sweep(
    load: Scenario | Files | None = None,
    *,
    out: str | os.PathLike[str],
    vary: Mapping[str, Iterable[object]] | None = None,
    executor: str | Executor | Client = "threads",
    workers: int | None = None,
    runs_per_task: int | None = None,
    reading: Reading | None = None,
    progress: bool | Callable[[int, int], object] = False,
    force: bool = False,
    **settings: Unpack[Settings],
) -> Swept:
    """Runs every combination of some settings, anywhere, into one Parquet file.

    The file is the same, byte for byte, whichever executor ran it. Every run that is finished is
    kept in the folder ``<out>.parts``, so a sweep that was stopped goes on where it was when it is
    called again, and a grid that grew runs only what is new. The folder may be deleted at any time.

    Args:
        load: A scenario, a scenario file (``*.toml``), or files of a trace. Files have to be there
            for every worker, under the same name.
        out: The Parquet file.
        vary: As for `compare`.
        executor: What runs the tasks: ``"threads"`` or ``"processes"`` of this machine, any
            ``concurrent.futures`` executor, a ``distributed.Client``, or a `RayExecutor`. It is
            left open. With processes, a script needs ``if __name__ == "__main__":``.
        workers: How many threads or processes; one per core when left out.
        runs_per_task: Runs that one task does at most, which share what is prepared for them: the
            trace, the aged placement. When left out, 1 if there is nothing to share, else up to 16.
            It changes nothing but the time.
        reading: How the trace's files are read, where they leave it open.
        progress: Called with the runs finished and the runs planned; True for a bar on stderr if
            that is a terminal.
        force: Replace `out` if it exists. Without it, a file is replaced only if this sweep has all
            of its rows: then an earlier call wrote it, and nothing is lost. A file that the sweep
            reads is never replaced.
        settings: As for `compare`. A drive must be named. With `fit`, each run is fitted to its own
            volume: `compare` fits all to the smallest.

    Raises:
        ConfigError: The scenario, a key, a value or the executor is wrong; `out` exists with other
            contents, or is read.
        InputError: The trace cannot be read or does not fit the drive; the file cannot be written.
        CheckError: Requests were lost, or a worker has another build of nearslot: a fault.
        WorkerError: Workers were lost. Finished runs are kept; call again to go on.
        Interrupted: Ctrl-C. Finished runs are kept, and are the exception's ``swept``. Runs that
            threads have under way end by themselves, and the program cannot end before.
    """
    path = Path(arguments.path("out", out))
    force = arguments.flag("force", force)
    arrow_module()
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder")
    if runs_per_task is not None:
        runs_per_task = arguments.whole("runs_per_task", runs_per_task, least=1)
    if not isinstance(progress, bool) and not callable(progress):
        raise config_error("progress", repr(progress), "True, False, or a function of two numbers")
    grid = Grid.of(load, vary, settings, reading_of(reading))
    rows = Rows(path.with_name(path.name + ".parts"), grid.keys)
    described = None if isinstance(load, Scenario) else scenario_file(load)
    inputs = [*grid.files, *([] if described is None else [described])]
    _native.check_output("out", os.fspath(path), inputs, force or rows.have_all_of(path))
    with opened(executor, workers) as pool, reporting(progress) as report:
        run_missing(grid, rows, pool, grid.tasks(rows, runs_per_task), report, path)
    table = table_of(grid, rows)
    write(table, path, lambda: force or rows.have_all_of(path))
    return Swept(path, table, len(grid.keys), rows.reused)
