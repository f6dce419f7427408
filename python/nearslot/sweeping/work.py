"""The work of a worker: it does the runs of a task. A row depends on its run alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from .. import _native
from ..errors import CheckError, NearslotError
from ..results import Results
from .arrow import arrow_module
from .grid import Task
from .keys import code

if TYPE_CHECKING:
    import pyarrow

# Columns about a run's place in a comparison, and the time it took: not about the run itself.
NOT_OF_THE_RUN = (
    "run",
    "rank",
    "ratio_to_best",
    *(
        f"against_{other}_{what}"
        for other in ("baseline", "best")
        for what in ("ms", "ci95_low_ms", "ci95_high_ms", "word")
    ),
    "runs_planned",
    "simulated_in_s",
)


def run_task(task: Task) -> list[bytes] | NearslotError:
    """Does the runs of a task. Returns a row for each, as an Arrow stream.

    The error of a run is returned, not raised, as executors wrap what is raised.
    """
    try:
        _check_code(task)
        outcome, raised = _native.simulate(
            task.toml,
            directory="",
            inputs=[],
            frames=[],
            # The whole grid was checked against the settings that were given.
            given=[],
            vary=task.vary,
            baseline=None,
            # An overloaded run must not end the sweep.
            overload="run",
            piece=True,
            reading=task.reading,
            jobs=1,
            series=False,
            requests=False,
            commands=False,
        )
        if raised is not None:
            raise raised
        assert outcome is not None, "a call that no signal ended has an outcome"
        return _rows_of(Results(outcome))
    except NearslotError as error:
        return error


def _check_code(task: Task) -> None:
    """Refuses to run with other code than the sweep keeps rows of."""
    if code() != task.code:
        there = f"a worker has nearslot of build {code()}, the sweep is of build {task.code}"
        raise CheckError(f"{there}: a sweep is of one build")


def _rows_of(results: Results) -> list[bytes]:
    arrow = arrow_module()
    table = arrow.table(results).drop_columns(list(NOT_OF_THE_RUN))
    labels = [run.label for run in results.runs]
    own = [
        json.dumps([asdict(told) for told in results.warnings if told.run in (None, label)])
        for label in labels
    ]
    at = table.schema.get_field_index("warnings")
    table = table.set_column(at, table.schema.field(at), arrow.array(own, arrow.string()))
    return [_packed(table.slice(index, 1)) for index in range(table.num_rows)]


def _packed(table: pyarrow.Table) -> bytes:
    arrow = arrow_module()
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
