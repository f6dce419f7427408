"""How a trace is opened by the functions that read one and run nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from .arguments import maybe, text, whole
from .errors import InputError
from .frames import FrameFile, told
from .scenario import Files, Reading, file_names, format_of, reading_of


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Files, and what of them is read; the engine reads its attributes."""

    files: tuple[str, ...]
    reading: Reading
    format: str | None
    device: str | None
    span: tuple[str | None, str | None, str | None]
    limit: int | None

    @classmethod
    def of(
        cls,
        trace: Files,
        *,
        format: str | None,  # noqa: A002 (as the command calls it)
        device: str | None,
        span: tuple[str | None, str | None, str | None],
        limit: int | None,
        reading: Reading | None,
    ) -> Opening:
        """The same for a trace as it was given.

        Raises:
            ConfigError: No file, a format that does not go with it, or an argument that is none.
        """
        files = file_names(trace)
        from_, to, busiest = span
        return cls(
            files=files,
            reading=reading_of(reading),
            format=format_of(files, maybe(text, "format", format)),
            device=maybe(text, "device", device),
            span=(
                maybe(text, "from", from_),
                maybe(text, "to", to),
                maybe(text, "busiest", busiest),
            ),
            limit=None if limit is None else whole("limit", limit, least=1),
        )

    @contextlib.contextmanager
    def naming_frames(self) -> Iterator[None]:
        """Within it, errors name data frames in place of the files that they were written to."""
        try:
            yield
        except InputError as error:
            raise told(error, self.files) from None

    def named(self, files: list[str]) -> list[str]:
        """Files of a result, with data frames in place of those that they were written to."""
        frames = {str(file): file.frame for file in self.files if isinstance(file, FrameFile)}
        return [frames.get(file, file) for file in files]
