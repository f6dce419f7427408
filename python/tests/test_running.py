"""Runs: the same results as the command, errors that name the thing, a lock that is released."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import nearslot
from nearslot import ConfigError, InputError, Interrupted, Scenario

REPOSITORY = Path(__file__).parents[2]
LONG = Scenario(workload="iometer:depth=64:requests=100000000", sched="satf")


def command(*args: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nearslot", *map(os.fspath, args)],
        capture_output=True,
        text=True,
        check=False,
    )


def printed(*args: str | os.PathLike[str]) -> dict[str, Any]:
    done = command(*args, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def repeatable(results: dict[str, Any]) -> dict[str, Any]:
    """Without the one value that does not repeat."""
    for run in results["runs"]:
        assert run.pop("simulated_in_s") >= 0
    return results


def test_run_gives_what_the_command_gives(trace: Path, scenario: Scenario, tmp_path: Path) -> None:
    words = f"{trace} --drive {scenario.drive} --replay closed --depth 8 --sched satf --limit 2000"
    told = repeatable(printed("run", *words.split()))
    assert repeatable(nearslot.run(scenario).to_dict()) == told
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.to_toml())
    assert repeatable(printed("run", file)) == told
    assert repeatable(nearslot.run(file).to_dict()) == told


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A trace beyond each of two disks, which are not equally large."""
    file = tmp_path / "wide.csv"
    rows = (f"{1_000 * i},{i * 7_919 % 16_384 * 4_000},8,W" for i in range(600))
    file.write_text("\n".join(["time_us,lba,blocks,op", *rows]))
    return file


def test_what_is_compared_is_fitted_alike(wide: Path) -> None:
    drives = ["hp-c2247a", "seagate-cheetah-9lp"]
    settings = {"fit": "wrap", "sched": "satf"}
    found = nearslot.compare(wide, drive=drives, **settings)
    vary = f"drive={','.join(drives)}"
    told = printed("compare", wide, "--vary", vary, "--fit", "wrap", "--sched", "satf")
    fitted = [run.config["load"].get("fit_bytes") for run in found.runs]
    assert [run["config"]["load"].get("fit_bytes") for run in told["runs"]] == fitted
    assert [run["response_ms"] for run in told["runs"]] == [
        run["response_ms"] for run in found.to_dict()["runs"]
    ]
    assert fitted[0] is None
    assert fitted[1] is not None
    reached = nearslot.capacity(wide, slo="mean < 60 ms", drive=drives, **settings)
    assert [choice.config["load"].get("fit_bytes") for choice in reached.choices] == fitted


@pytest.mark.parametrize("key", ["offer", "cache_size"])
def test_what_the_command_is_short_for_is_told(trace: Path, key: str) -> None:
    with pytest.raises(ConfigError, match=key) as raised:
        nearslot.compare(trace, **{key: "1%"})
    assert "did you mean" not in str(raised.value)
    assert f"the command's --{key.replace('_', '-')} is short for" in str(raised.value)


def test_compare_gives_what_the_command_gives(trace: Path) -> None:
    found = nearslot.compare(trace)
    assert repeatable(found.to_dict()) == repeatable(printed("compare", trace))
    assert [run.config["sched"]["name"] for run in found.runs] == [
        "fcfs",
        "look",
        "mq-deadline",
        "satf",
    ]


def test_a_grid_is_every_combination(synthetic: Scenario) -> None:
    found = nearslot.compare(synthetic, vary={"sched": ["fcfs", "satf"], "depth": [1, 32]})
    labels = [run.label for run in found.runs]
    assert labels[:2] == ["sched=fcfs depth=1", "sched=fcfs depth=32"]
    assert len(found) == found.runs_planned == 4
    assert found.runs[3].throughput_rps > found.runs[1].throughput_rps
    shallow, deep = found.verdict.rankings
    assert (shallow.load, deep.load) == ("depth=1", "depth=32")
    assert [found.runs[rank.run].choice for rank in deep.ranks] == ["sched=satf", "sched=fcfs"]
    assert deep.ranks[0].ratio_to_best == 1.0
    with pytest.raises(InputError, match=r"depth=1, depth=32 has a best of its own"):
        _ = found.best
    told = printed(
        "compare",
        "--workload",
        # A knob that is varied is not given once as well.
        str(synthetic.workload).replace(":depth=8", ""),
        f"--drive={synthetic.drive}",
        "--vary=sched=fcfs,satf",
        "--vary=depth=1,32",
    )
    assert repeatable(found.to_dict()) == repeatable(told)


def test_a_baseline_is_held_against(synthetic: Scenario) -> None:
    vary = {"sched": ["satf", "fcfs", "look"]}
    found = nearslot.compare(synthetic, vary=vary, baseline="fcfs").verdict
    assert found.baseline == "sched=fcfs"
    assert found.headline.startswith("satf wins: ")
    against = found.rankings[0].ranks[0].against_baseline
    assert against is not None
    assert against.word == "faster"
    with pytest.raises(ConfigError, match=r"baseline = clook .*sched=satf, sched=fcfs"):
        nearslot.compare(synthetic, vary=vary, baseline="clook")


def test_a_setting_without_effect_is_refused(trace: Path) -> None:
    with pytest.raises(ConfigError, match=r"depth = 1 \(allowed: with replay = closed"):
        nearslot.compare(trace, vary={"sched": ["look", "satf"], "depth": [1, 8, 64]})
    with pytest.raises(ConfigError, match=r"speed = 2 "):
        nearslot.run(Scenario(trace=trace, replay="closed", speed=2.0))


def test_jobs_change_nothing(synthetic: Scenario) -> None:
    vary = {"sched": ["fcfs", "look", "satf"]}
    one, two = (nearslot.compare(synthetic, vary=vary, jobs=jobs) for jobs in (1, 2))
    assert repeatable(one.to_dict()) == repeatable(two.to_dict())


def test_seeds_change_everything_random(synthetic: Scenario) -> None:
    means = {nearslot.run(synthetic.replace(seed=seed)).run.response_ms.mean for seed in (1, 2)}
    assert len(means) == 2


def test_knobs_can_be_varied(synthetic: Scenario) -> None:
    aged = synthetic.replace(sched="aged_satf")
    found = nearslot.compare(aged, vary={"sched.weight_ms_per_s": [0.0, 0.9]})
    assert [run.config["sched"]["weight_ms_per_s"] for run in found.runs] == [0.0, 0.9]


def test_typed_results_are_the_whole_json(synthetic: Scenario) -> None:
    import msgspec

    found = nearslot.run(synthetic)
    typed = msgspec.json.decode(msgspec.json.encode(found.run))
    series = typed.pop("series")
    # Left out of JSON where the load is no host.
    assert typed.pop("processes") == []
    assert typed.pop("applications") == []
    assert typed == found.to_dict()["runs"][0]
    assert len(series["cdf_ms"]) == len(series["cdf_share"]) > 10
    assert series["cdf_share"][-1] == pytest.approx(1.0)
    assert nearslot.run(synthetic, series=False).run.series is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sched": "stf"}, "unknown .*`stf`.*satf"),
        ({"drive": "hp-c2247"}, "hp-c2247a"),
        ({"sched": "aged_satf:weight_ms_per_s=2000"}, r"aged_satf\.weight_ms_per_s = 2000"),
        ({"sched": "aged_satf:wieght_ms_per_s=0.5"}, "weight_ms_per_s"),
        ({"warmup": "91%"}, "warmup"),
    ],
)
def test_mistakes_are_named(synthetic: Scenario, settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        nearslot.run(synthetic.replace(**settings))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.key) == (str(caught.value), caught.value.key)


def test_a_grid_names_its_mistakes(synthetic: Scenario) -> None:
    for vary, message in [
        ({"sched": "satf"}, "a list of values"),
        ({"sched": []}, "at least one value"),
        ({"sched": ["satf", "satf"]}, "each value once"),
        ({"dept": [1, 2]}, "depth"),
        ({"depth": [None]}, "a word"),
    ]:
        with pytest.raises(ConfigError, match=message):
            nearslot.compare(synthetic, vary=vary)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="jobs = 0"):
        nearslot.compare(synthetic, jobs=0)
    with pytest.raises(ConfigError, match="from 1 to 1024"):
        nearslot.compare(synthetic, jobs=100_000)


def test_unfit_input_is_named(tmp_path: Path, trace: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        nearslot.run(tmp_path / "none.csv")
    garbage = tmp_path / "garbage.bin"
    garbage.write_bytes(bytes(range(256)) * 16)
    with pytest.raises(InputError, match=r"garbage\.bin"):
        nearslot.inspect(garbage)
    with pytest.raises(InputError, match="no device `sdz`"):
        nearslot.inspect(trace, device="sdz")
    with pytest.raises(ConfigError, match="time_unit"):
        nearslot.inspect(trace, reading=nearslot.Reading(time_unit="h"))  # type: ignore[arg-type]
    far = tmp_path / "far.csv"
    far.write_text("ts_us,op,offset,size\n0,R,40960000000000,4096\n1,R,0,4096\n")
    with pytest.raises(InputError, match="wrap"):
        nearslot.run(far)
    assert nearslot.run(Scenario(trace=far, fit="wrap", warmup=0)).run.requests == 2


def test_inspection_is_the_commands(trace: Path) -> None:
    found = nearslot.inspect(trace, limit=1_000, drive="hp-c2247a")
    told = printed("inspect", trace, "--limit", "1000", "--drive", "hp-c2247a")
    assert found.to_dict() == told
    assert (found.requests, found.limited) == (1_000, True)
    assert found.sizes.all is not None
    assert found.sizes.all.mean_bytes == 4_096
    assert found.read_share == pytest.approx(0.7, abs=0.05)
    assert any("hp-c2247a" in warning.text for warning in found.warnings)
    heat = found.pictures.heat
    assert heat is not None
    assert sum(heat.maps[0].cells.reads) == found.operations["read"].requests
    assert sum(heat.maps[0].cells.writes) == found.operations["write"].requests


def test_a_part_of_a_trace_is_the_commands(trace: Path) -> None:
    told = printed("inspect", trace, "--from", "2s", "--to", "5s")
    found = nearslot.inspect(trace, from_="2s", to="5s")
    assert found.to_dict() == told
    assert found.span == nearslot.SpanRead(from_s=2.0, to_s=5.0, busiest=False)
    assert found.requests == 375
    part = Scenario(trace=trace, from_="2s", to="5s", replay="closed")
    assert Scenario.from_toml(part.to_toml()) == part
    replayed = nearslot.run(part).trace
    assert replayed is not None
    assert (replayed.hash, replayed.span) == (found.hash, found.span)
    busiest = nearslot.inspect(trace, busiest="5s")
    assert busiest.to_dict() == printed("inspect", trace, "--busiest", "5s")
    with pytest.raises(ConfigError, match="nothing beside busiest"):
        nearslot.inspect(trace, from_="2s", busiest="5s")
    with pytest.raises(ConfigError, match="from_"):
        Scenario(workload="iometer", from_="2s")
    with pytest.raises(InputError, match="begins at 1h"):
        nearslot.inspect(trace, from_="1h")


def test_volumes_are_placed_as_told(tmp_path: Path) -> None:
    lines = [f"{n * 9_000},{'ab'[n % 2]},{n * 8},8,R" for n in range(200)]
    trace = tmp_path / "two.csv"
    trace.write_text("\n".join(["time_us,dev,lba,blocks,op", *lines]) + "\n")
    with pytest.raises(InputError, match="own-drives"):
        nearslot.run(trace)
    scenario = Scenario(trace=trace, volumes="own-drives")
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    run = nearslot.run(scenario).run
    assert [(volume.device, volume.drive) for volume in run.volumes] == [("a", 0), ("b", 1)]
    behind = nearslot.run(scenario.replace(volumes="concat")).run
    assert [volume.first_block for volume in behind.volumes] == [0, 2048]
    told = behind.volume_responses
    assert [volume.device for volume in told] == ["a", "b"]
    assert sum(volume.requests for volume in told) == behind.requests - behind.warmup_requests


def test_other_threads_go_on_during_a_run() -> None:
    over, turns = threading.Event(), 0

    def count() -> None:
        nonlocal turns
        while not over.wait(0.001):
            turns += 1

    other = threading.Thread(target=count)
    other.start()
    began = time.perf_counter()
    nearslot.run(Scenario(workload="iometer:depth=64:requests=300000", sched="satf"))
    took_s = time.perf_counter() - began
    over.set()
    other.join()
    # With the lock held, the other thread would not have turned even once.
    assert turns > max(3, took_s / 0.001 / 100)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals")
def test_ctrl_c_stops_runs_and_keeps_the_finished() -> None:
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    quick = LONG.replace(workload="iometer:depth=64:requests=1000")
    try:
        with pytest.raises(Interrupted) as caught:
            nearslot.compare(quick, vary={"requests": [1_000, 100_000_000]}, jobs=1)
    finally:
        timer.cancel()
    assert time.perf_counter() - began < 30
    assert isinstance(caught.value, KeyboardInterrupt)
    results = caught.value.results
    assert results is not None
    assert (len(results), results.runs_planned) == (1, 2)
    assert results.runs[0].requests == 1_000


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals")
def test_ctrl_c_keeps_what_a_single_run_has_measured() -> None:
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(Interrupted, match="requests were measured") as caught:
            nearslot.run(LONG.replace(warmup=10))
    finally:
        timer.cancel()
    results = caught.value.results
    assert results is not None
    (run,) = results.runs
    # The request that an answer brings comes with an event of its own.
    assert run.pending in {63, 64}
    assert 1_000 < run.requests < 100_000_000
    assert run.response_ms.ci95 is None
    assert "was interrupted" in results.warnings[0].text


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals")
def test_what_a_handler_raises_ends_a_run() -> None:
    def late(*_: object) -> None:
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeoutError, match="enough"):
            nearslot.run(LONG)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_command_is_installed() -> None:
    version = command("--version")
    program = f"nearslot {nearslot.__version__}, build {nearslot.__build__}"
    assert version.stdout == f"{program}\n"
    assert command("run", "--sched", "satf").returncode == 2
    assert command("inspect", "none.csv").returncode == 3
    script = Path(sys.executable).with_name("nearslot")
    if script.exists():
        told = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert told.stdout == version.stdout


def test_ctrl_c_ends_the_command() -> None:
    words = ["run", "--workload", str(LONG.workload), "--sched", "satf", "--format", "json"]
    with subprocess.Popen(
        [sys.executable, "-m", "nearslot", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        began = time.monotonic()
        # With more threads than the interpreter has, the runs have begun.
        while len(list(Path(f"/proc/{running.pid}/task").iterdir())) < 4:
            assert time.monotonic() - began < 60, "the runs do not begin"
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=60)
    assert running.returncode == 4, stderr
    assert "interrupted" in stderr


def test_parts_present_themselves() -> None:
    names = [part.name for part in nearslot.list("schedulers")]
    assert {"fcfs", "look", "satf", "mq-deadline"} <= set(names)
    shown = nearslot.show("aged_satf")
    assert shown.kind == "schedulers"
    (weight,) = [knob for knob in shown.knobs if knob.name == "weight_ms_per_s"]
    assert weight.range == (0.0, 1000.0)
    assert nearslot.show("hp-c2247a").text
    with pytest.raises(ConfigError, match="schedulers"):
        nearslot.list("schedulres")
    with pytest.raises(ConfigError) as caught:
        nearslot.show("stf")
    assert caught.value.nearest in {"satf", "sstf"}


def test_the_best_is_the_first_of_the_verdict(tmp_path: Path) -> None:
    # A volume that keeps up with everything, each time after five seconds.
    slow = tmp_path / "slow.toml"
    slow.write_text(
        'kind = "capped"\ncapacity_blocks = 2000000\nlatency_ms = 5000.0\nio_kib_max = 256\n'
        "iops = { baseline = 100000.0 }\nmib = { baseline = 100000.0 }\n"
    )
    found = nearslot.compare(
        workload="poisson:requests=2500:rate_rps=58", drive=["hp-c2247a", slow], sched="fcfs"
    )
    grown, kept_up = found.runs
    assert grown.queue_growth_rps is not None
    assert kept_up.queue_growth_rps is None
    assert grown.response_ms.mean < kept_up.response_ms.mean
    assert found.best is kept_up
    assert "the queue grows by" in repr(grown)
    assert "mean" not in repr(grown)
    assert "mean" in repr(kept_up)
    alone = nearslot.compare(workload="iometer:requests=300", drive="null", sched="fcfs")
    assert alone.best is alone.runs[0]


def test_the_demo_trace_runs() -> None:
    demo = REPOSITORY / "demo" / "postgres-and-build.perf.txt.gz"
    found = nearslot.inspect(demo, limit=5_000)
    assert found.requests == 5_000
    scenario = Scenario(trace=demo, drive="desktop-7200-90mb", replay="closed", limit=5_000)
    best = nearslot.compare(scenario, vary={"sched": ["fcfs", "satf"]}).best
    assert best.config["sched"]["name"] == "satf"


AT_ONCE = """
import sys
import threading

import nearslot

sys.setswitchinterval(1e-6)
began = threading.Barrier(8)
ended = []


def call():
    began.wait()
    nearslot.run(nearslot.Scenario(workload="iometer:requests=1000", drive="null"), series=False)
    ended.append(nearslot.show("satf").name)


threads = [threading.Thread(target=call) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
assert ended == ["satf"] * 8, ended
"""


def test_first_calls_may_come_from_several_threads_at_once() -> None:
    # Only the first calls of a program can meet; of eight, some did in three of four programs.
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
