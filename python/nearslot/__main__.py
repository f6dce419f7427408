"""The ``nearslot`` command: the same program as the one that cargo installs."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the command with the process's arguments and gives its exit code."""
    # Python's own handler would act on Ctrl-C only after the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["nearslot", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
