"""Sweeps: the same bytes whoever runs them, nothing repeated, nothing damaged believed."""

from __future__ import annotations

import concurrent.futures
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet
import pytest

import nearslot
from nearslot import (
    CheckError,
    ConfigError,
    InputError,
    Interrupted,
    Scenario,
    WorkerError,
    part,
    sweep,
)
from nearslot.sweeping import keys, work
from nearslot.sweeping import tasks as tasks_of

VARY = {"sched": ["fcfs", "satf"], "workload.depth": [1, 8], "seed": [1, 2]}
# A run of some tenths of a second, so that something can happen in the middle of it.
SLOW = Scenario(
    workload=part("iometer", depth=64, requests=100_000), drive="seagate-cheetah-9lp", sched="satf"
)


@pytest.fixture(scope="session")
def small() -> Scenario:
    return Scenario(workload=part("iometer", requests=1_000), drive="seagate-cheetah-9lp")


@pytest.fixture(scope="session")
def expected(small: Scenario, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What every executor must write, made by threads."""
    out = tmp_path_factory.mktemp("expected") / "runs.parquet"
    sweep(small, vary=VARY, out=out)
    return out.read_bytes()


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tasks that threads run from here on."""
    done: list[Any] = []
    real = tasks_of.run_task

    def counted(task: Any) -> Any:  # noqa: ANN401
        done.append(task)
        return real(task)

    monkeypatch.setattr(tasks_of, "run_task", counted)
    return done


def runs_of(tasks: list[Any]) -> int:
    return sum(len(task.points) for task in tasks)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


class Backwards(Executor):
    """Runs the last task first, and nothing before it has all of them."""

    def __init__(self, tasks: int) -> None:
        """Waits for so many."""
        self._tasks = tasks
        self._waiting: list[Callable[[], None]] = []

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Runs all when the last one comes."""
        future: Future[Any] = Future()
        self._waiting.append(lambda: future.set_result(task(*args, **kwargs)))
        if len(self._waiting) == self._tasks:
            for run in reversed(self._waiting):
                run()
        return future


def test_a_sweep_finds_what_compare_finds(small: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    swept = sweep(small, vary=VARY, out=out)
    compared = nearslot.compare(small, vary=VARY)
    rows = polars.read_parquet(out)
    frame = polars.DataFrame(compared)
    left_out = {*work.NOT_OF_THE_RUN, "seed", "warnings"} - {"run"}
    for name in set(frame.columns) - left_out:
        assert rows[name].to_list() == frame[name].to_list(), name
    assert rows.columns == swept.table.column_names
    assert rows["vary.sched"].to_list() == ["fcfs"] * 4 + ["satf"] * 4
    assert rows["vary.workload.depth"].to_list() == [1, 1, 8, 8] * 2
    assert rows["seed"].to_list() == rows["vary.seed"].to_list() == [1, 2] * 4
    assert rows["scenario_hash"].n_unique() == len(swept) == swept.runs_planned == 8
    assert not set(rows.columns) & (set(work.NOT_OF_THE_RUN) - {"run"})
    assert polars.DataFrame(swept).equals(rows)


def test_order_and_size_of_tasks_change_nothing(
    small: Scenario, expected: bytes, tmp_path: Path
) -> None:
    for runs_per_task, count in ((1, 8), (2, 4), (100, 2)):
        out = tmp_path / f"{runs_per_task}.parquet"
        sweep(small, vary=VARY, out=out, executor=Backwards(count), runs_per_task=runs_per_task)
        assert out.read_bytes() == expected, runs_per_task


def test_processes_change_nothing(small: Scenario, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    sweep(small, vary=VARY, out=out, executor="processes", workers=2)
    assert out.read_bytes() == expected


def test_what_runs_share_changes_nothing(tmp_path: Path, trace: Path) -> None:
    # Warnings of a run and of the trace; a seed, a fit and a placement.
    replayed = Scenario(trace=trace, drive="hp-c2247a", limit=1_000, speed=4.0)
    settings = {"replay": ["open", "closed"], "sched": ["fcfs", "look"], "fit": ["wrap", "scale"]}
    eager = Scenario(
        workload="iometer:requests=500:read_share=0.5", drive="hp-c2247a", sched="satf_ew"
    )
    places = {"place": ["linear", "eager"], "depth": [4, 16], "seed": [1, 2]}
    for name, load, vary in (("replayed", replayed, settings), ("eager", eager, places)):
        found = set()
        for most in (1, 8):
            out = tmp_path / f"{name}-{most}.parquet"
            sweep(load, vary=vary, out=out, runs_per_task=most)
            found.add(out.read_bytes())
        assert len(found) == 1, name
    rows = polars.read_parquet(tmp_path / "replayed-8.parquet")
    grew = rows["warnings"].str.contains("the queue grew by")
    assert grew.any()
    assert grew.to_list() == (rows["vary.replay"] == "open").to_list()
    assert rows["trace_fit"].to_list() == rows["vary.fit"].to_list()
    assert rows["trace_hash"].n_unique() == 1


def test_finished_runs_are_not_repeated(
    small: Scenario, expected: bytes, tasks: list[Any], tmp_path: Path
) -> None:
    out = tmp_path / "runs.parquet"
    few = sweep(small, vary={**VARY, "seed": [2]}, out=out)
    assert (runs_of(tasks), few.reused) == (4, 0)
    grown = sweep(small, vary=VARY, out=out)
    assert (runs_of(tasks), grown.reused) == (8, 4)
    assert out.read_bytes() == expected
    again = sweep(small, vary=VARY, out=out)
    assert (runs_of(tasks), again.reused) == (8, 8)
    assert out.read_bytes() == expected


def test_what_decides_a_run_is_in_its_hash(
    trace: Path, tasks: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = tmp_path / "drive.toml"
    drive.write_text(nearslot.show("hp-c2247a").text or "")
    copy = tmp_path / "load.csv"
    copy.write_bytes(trace.read_bytes())
    load = Scenario(trace=copy, drive=str(drive), limit=500, fit="wrap")

    def reused(load: Scenario = load, reading: nearslot.Reading | None = None) -> int:
        swept = sweep(load, vary={"sched": ["satf"]}, out=tmp_path / "x", reading=reading)
        return swept.reused

    assert [reused(), reused()] == [0, 1]
    assert reused(load.replace(seed=2)) == 0
    assert reused(reading=nearslot.Reading(spread="none")) == 0
    copy.write_text(trace.read_text().replace("R", "W"))
    assert [reused(), reused()] == [0, 1]
    drive.write_text(drive.read_text() + "\n# Another one.\n")
    assert [reused(), reused()] == [0, 1]
    monkeypatch.setattr(keys, "LAYOUT", 0)
    assert reused() == 0
    assert runs_of(tasks) == 6


@pytest.mark.parametrize("how", ["cut", "flipped", "renamed", "empty"])
def test_a_damaged_row_is_made_again(
    how: str, small: Scenario, expected: bytes, tasks: list[Any], tmp_path: Path
) -> None:
    out = tmp_path / "runs.parquet"
    sweep(small, vary=VARY, out=out)
    one, other = sorted((tmp_path / "runs.parquet.parts").iterdir())[:2]
    whole = one.read_bytes()
    damaged = {
        "cut": whole[:-1],
        "flipped": whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:],
        "renamed": other.read_bytes(),
        "empty": b"",
    }
    one.write_bytes(damaged[how])
    with pytest.warns(RuntimeWarning, match=f"{one.name} is damaged"):
        swept = sweep(small, vary=VARY, out=out)
    assert (runs_of(tasks), swept.reused) == (9, 7)
    assert out.read_bytes() == expected
    assert one.read_bytes() == whole


def test_a_file_is_there_whole_or_not_at_all(
    small: Scenario, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs.parquet"
    out.write_bytes(b"what was there")

    def full(table: object, path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(pyarrow.parquet, "write_table", full)
        with pytest.raises(InputError, match="no space left"):
            sweep(small, vary=VARY, out=out, force=True)
    assert out.read_bytes() == b"what was there"
    assert {path.name for path in tmp_path.iterdir()} == {out.name, f"{out.name}.parts"}
    assert sweep(small, vary=VARY, out=out, force=True).reused == 8
    assert out.read_bytes() == expected


def test_no_file_of_anything_else_is_replaced(
    small: Scenario, expected: bytes, tasks: list[Any], trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "runs.parquet"
    out.write_bytes(b"years of work")
    with pytest.raises(ConfigError, match="does not exist yet, or force=True"):
        sweep(small, vary=VARY, out=out)
    assert (out.read_bytes(), runs_of(tasks)) == (b"years of work", 0)
    copy = tmp_path / "load.csv"
    copy.write_bytes(trace.read_bytes())
    with pytest.raises(ConfigError, match="not read"):
        sweep(copy, drive="null", out=tmp_path / "." / "load.csv", force=True)
    assert copy.read_bytes() == trace.read_bytes()
    # What another sweep found is replaced only if all of its runs are kept beside it.
    out.unlink()
    sweep(small, vary={"seed": [3]}, out=out)
    other = out.read_bytes()
    for kept in (tmp_path / "runs.parquet.parts").iterdir():
        kept.unlink()
    with pytest.raises(ConfigError, match="does not exist yet"):
        sweep(small, vary=VARY, out=out)
    assert out.read_bytes() == other
    sweep(small, vary=VARY, out=out, force=True)
    assert out.read_bytes() == expected


def test_what_appears_meanwhile_is_not_replaced(small: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"

    def appear(finished: int, planned: int) -> None:
        if finished == planned:
            out.write_bytes(b"theirs")

    with pytest.raises(InputError, match="exists"):
        sweep(small, vary={"seed": [1]}, out=out, progress=appear)
    assert out.read_bytes() == b"theirs"


def test_ctrl_c_keeps_what_was_finished(
    small: Scenario, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs.parquet"
    begun, told = itertools.count(1), threading.Event()
    real = tasks_of.run_task

    def fourth_waits(task: Any) -> Any:  # noqa: ANN401
        if next(begun) == 4:
            assert told.wait(60)
        return real(task)

    def stop(finished: int, planned: int) -> None:
        assert planned == 8
        if finished == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(tasks_of, "run_task", fourth_waits)
        with pytest.raises(Interrupted, match="3 of 8 runs are finished and kept") as caught:
            sweep(small, vary=VARY, out=out, workers=1, progress=stop)
        told.set()
    swept = caught.value.swept
    assert swept is not None
    assert (len(swept), swept.runs_planned) == (3, 8)
    assert swept.table["label"][0].as_py() == "sched=fcfs workload.depth=1 seed=1"
    assert not out.exists()
    assert sweep(small, vary=VARY, out=out).reused == 3
    assert out.read_bytes() == expected


def test_ctrl_c_before_the_first_run_has_no_rows(small: Scenario, tmp_path: Path) -> None:
    def stop(finished: int, planned: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        sweep(small, vary=VARY, out=tmp_path / "x", progress=stop)
    assert caught.value.swept is not None
    assert len(caught.value.swept) == 0


def test_a_lost_process_is_told_and_made_good(tmp_path: Path) -> None:
    vary = {"seed": [1, 2, 3, 4]}
    whole, out = tmp_path / "whole.parquet", tmp_path / "runs.parquet"
    sweep(SLOW, vary=vary, out=whole)
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    victim = pool.submit(os.getpid).result()

    def kill(finished: int, planned: int) -> None:
        if finished == 1:
            end(victim)

    with (
        pool,
        pytest.raises(WorkerError, match=r"BrokenProcessPool.* kept in .*call sweep again"),
    ):
        sweep(SLOW, vary=vary, out=out, executor=pool, progress=kill)
    assert not out.exists()
    swept = sweep(SLOW, vary=vary, out=out)
    assert 1 <= swept.reused < 4
    assert out.read_bytes() == whole.read_bytes()


def test_a_client_is_asked_for_its_executor(
    small: Scenario, expected: bytes, tmp_path: Path
) -> None:
    class Client:
        def __init__(self) -> None:
            self.given: list[Executor] = []

        def get_executor(self) -> Executor:
            self.given.append(concurrent.futures.ThreadPoolExecutor(1))
            return self.given[-1]

    out, client = tmp_path / "runs.parquet", Client()
    sweep(small, vary=VARY, out=out, executor=client)
    assert out.read_bytes() == expected
    (executor,) = client.given
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(int)


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install nearslot\[ray\]"):
        nearslot.RayExecutor()


def test_what_only_some_need_is_imported_by_them() -> None:
    heavy = ["dask", "distributed", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "ray"]
    program = f"import sys, nearslot.experiments; print(sorted(sys.modules.keys() & {heavy}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.clusters
@pytest.mark.filterwarnings("ignore")  # Those of distributed's own parts are not ours.
def test_a_dask_worker_is_killed_in_mid_sweep(tmp_path: Path) -> None:
    import distributed

    vary = {"sched": ["satf", "sstf"], "seed": [1, 2, 3, 4]}
    whole, out = tmp_path / "whole.parquet", tmp_path / "runs.parquet"
    sweep(SLOW, vary=vary, out=whole)
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = client.run(os.getpid)

        def kill(finished: int, planned: int) -> None:
            busy = [address for address, tasks in client.processing().items() if tasks]
            if not killed and finished >= 1 and busy:
                end(pids[busy[0]])
                killed.append(pids[busy[0]])

        swept = sweep(SLOW, vary=vary, out=out, executor=client, progress=kill)
        assert len(killed) == 1
        assert killed[0] not in client.run(os.getpid).values()
        # The client is still the caller's.
        assert client.submit(sum, [1, 2]).result() == 3
    assert (len(swept), swept.reused) == (8, 0)
    assert out.read_bytes() == whole.read_bytes()


@pytest.fixture
def local_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ray with two workers on loopback that tells nobody."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield
    ray.shutdown()


@pytest.mark.clusters
@pytest.mark.filterwarnings("ignore")  # Those of Ray's own parts are not ours.
@pytest.mark.usefixtures("local_ray")
def test_ray_changes_nothing(small: Scenario, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    sweep(small, vary=VARY, out=out, executor=nearslot.RayExecutor())
    assert out.read_bytes() == expected
    with pytest.raises(ConfigError, match="did you mean"):
        sweep(small, vary={"sched": ["stf"]}, out=out, executor=nearslot.RayExecutor())


def test_mistakes_are_named(small: Scenario, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    for settings, message in [
        ({"executor": "thread"}, "executor = 'thread'.*distributed.Client"),
        ({"executor": 3}, "executor = 3"),
        ({"workers": 0}, "workers = 0"),
        ({"workers": 2, "executor": Backwards(1)}, "workers = 2"),
        ({"runs_per_task": 0}, "runs_per_task = 0"),
        ({"vary": {"seed": [1, 1]}}, "each value once"),
        ({"vary": {"seed": []}}, "at least one value"),
        ({"vary": {"sched": "satf"}}, "a list of values"),
        ({"vary": {"sched": ["satf", "stf"]}}, "unknown scheduler `stf`"),
        ({"vary": {"workload.dept": [1]}}, "depth"),
    ]:
        with pytest.raises(ConfigError, match=message):
            sweep(small, out=out, **settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="every worker"):
        sweep("-", out=out)
    with pytest.raises(InputError, match="no such folder"):
        sweep(small, out=tmp_path / "nowhere" / "runs.parquet")
    with pytest.raises(InputError, match=r"none\.csv"):
        sweep(tmp_path / "none.csv", drive="null", out=out)
    assert not out.exists()
    assert len(sweep(trace, drive="null", out=out)) == 4


def test_a_mistake_in_one_run_keeps_the_others(small: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    with pytest.raises(ConfigError, match="stf") as caught:
        sweep(small, vary={"sched": ["satf", "fcfs", "stf"]}, out=out, workers=1)
    assert any("2 of 3 runs are finished" in note for note in caught.value.__notes__)
    assert sweep(small, vary={"sched": ["satf", "fcfs", "sstf"]}, out=out).reused == 2


def test_workers_of_another_build_are_refused(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = tasks_of._submit

    def on_another_machine(pool: Executor, tasks: list[Any], futures: dict[Any, Any]) -> None:
        built_from(monkeypatch, "b" * 40)
        submit(pool, tasks, futures)

    built_from(monkeypatch, "a" * 40)
    monkeypatch.setattr(tasks_of, "_submit", on_another_machine)
    with pytest.raises(CheckError, match=r"build b{40}, the sweep is of build a{40}"):
        sweep(small, out=tmp_path / "runs.parquet")


def built_from(monkeypatch: pytest.MonkeyPatch, build: str, module: str = "") -> None:
    """Pretends that the engine was compiled from this source into a module with this digest."""
    monkeypatch.setattr(keys._native, "__build__", build)
    monkeypatch.setattr(keys._native, "is_committed", build.isalnum())
    monkeypatch.setattr(keys, "_module_digest", lambda: module)


def test_rows_of_other_code_are_not_taken_up(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs.parquet"

    def reused(build: str, module: str) -> int:
        built_from(monkeypatch, build, module)
        return sweep(small, out=out, force=True).reused

    commit, changed = "a" * 40, "a" * 40 + "-changed"
    assert reused(commit, "compiled once") == 0
    assert reused(commit, "compiled again") == 1, "the commit says all of the code"
    assert reused("b" * 40, "compiled again") == 0
    for build in (changed, "unknown-source"):
        assert reused(build, "compiled once") == 0
        assert reused(build, "compiled once") == 1
        assert reused(build, "compiled again") == 0, "two changes have one name"


def test_rows_and_file_name_the_build(small: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    table = sweep(small, out=out).table
    assert table["build"].to_pylist() == [nearslot.__build__]
    stored = pyarrow.parquet.read_schema(out).metadata
    assert stored[b"nearslot.build"].decode() == nearslot.__build__


def test_what_an_executor_raises_is_told(small: Scenario, tmp_path: Path) -> None:
    class Full(Executor):
        def submit(self, *_: object, **__: object) -> Future[Any]:  # type: ignore[override]
            raise RuntimeError("no room")

    with pytest.raises(WorkerError, match=r"RuntimeError: no room.*0 of 1 runs"):
        sweep(small, out=tmp_path / "runs.parquet", executor=Full())


def test_progress_counts_to_the_end(
    small: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[int, int]] = []
    out = tmp_path / "runs.parquet"
    sweep(small, vary=VARY, out=out, progress=lambda *counts: seen.append(counts))
    assert seen == [(finished, 8) for finished in range(9)]
    sweep(small, vary=VARY, out=out, progress=True)
    assert capsys.readouterr().err == "", "no bar where there is no terminal"


def test_a_bar_is_drawn_on_a_terminal(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr", terminal)
    sweep(small, vary=VARY, out=tmp_path / "runs.parquet", progress=True)
    assert "8/8 runs" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_two_sweeps_share_a_folder(small: Scenario, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "runs.parquet"
    began = threading.Barrier(2)

    def once() -> None:
        began.wait()
        sweep(small, vary=VARY, out=out)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(once) for _ in range(2)]:
            future.result()
    assert out.read_bytes() == expected
