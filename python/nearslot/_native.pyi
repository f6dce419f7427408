from collections.abc import Sequence
from typing import Protocol

__version__: str
__build__: str
is_committed: bool

class _Reading(Protocol):
    @property
    def columns(self) -> str | None: ...
    @property
    def time_unit(self) -> str | None: ...
    @property
    def block_size_bytes(self) -> int | None: ...
    @property
    def fio_wait(self) -> str | None: ...
    @property
    def spread(self) -> str | None: ...
    @property
    def reorder_ms(self) -> int: ...
    @property
    def sort(self) -> bool: ...
    @property
    def strict(self) -> bool: ...

class Rows:
    def stream(self) -> object: ...
    def rows(self) -> int: ...
    def save(self, path: str, force: bool) -> None: ...

class Outcome:
    def json(self, series: bool) -> str: ...
    def table(self, width: int | None) -> str: ...
    def html(self, path: str, force: bool) -> None: ...
    def stream(self) -> object: ...
    def requests(self) -> Rows | None: ...
    def commands(self) -> Rows | None: ...

class NativeCapacity:
    def json(self) -> str: ...
    def text(self) -> str: ...
    def html(self, path: str, force: bool) -> None: ...

def capacity(
    toml: str,
    *,
    directory: str,
    inputs: Sequence[str],
    frames: Sequence[tuple[str, str]],
    given: Sequence[tuple[str, str]],
    vary: Sequence[tuple[str, Sequence[str]]],
    slo: Sequence[str],
    find: str | None,
    resolution_percent: float,
    reading: _Reading,
    jobs: int | None,
) -> tuple[NativeCapacity | None, BaseException | None]: ...
def scenario_json(toml: str, directory: str) -> str: ...
def hitrate(
    files: Sequence[str],
    *,
    reading: _Reading,
    format: str | None,  # noqa: A002
    limit: int | None,
    caches: Sequence[str],
    sizes: Sequence[str] | None,
    unit: str,
    count: str,
    sample: str | None,
    seed: int,
) -> str: ...
def hitrate_html(json: str, *, path: str, force: bool) -> None: ...
def inspect(
    files: Sequence[str],
    *,
    reading: _Reading,
    format: str | None,  # noqa: A002
    device: str | None,
    span: tuple[str | None, str | None, str | None],
    limit: int | None,
    drive: str | None,
) -> str: ...
def check_grid(
    toml: str,
    *,
    directory: str,
    given: Sequence[tuple[str, str]],
    vary: Sequence[tuple[str, Sequence[str]]],
) -> None: ...
def simulate(
    toml: str,
    *,
    directory: str,
    inputs: Sequence[str],
    frames: Sequence[tuple[str, str]],
    given: Sequence[tuple[str, str]],
    vary: Sequence[tuple[str, Sequence[str]]],
    baseline: str | None,
    overload: str,
    piece: bool,
    reading: _Reading,
    jobs: int | None,
    series: bool,
    requests: bool,
    commands: bool,
) -> tuple[Outcome | None, BaseException | None]: ...
def check_output(name: str, path: str, inputs: Sequence[str], force: bool) -> None: ...
def figures_html(json: str, path: str, force: bool) -> None: ...
def list_json(kind: str | None) -> str: ...
def show_json(name: str) -> str: ...
def main(args: Sequence[str]) -> int: ...
