"""The console script: parses, runs one command, turns every failure into one line.

Exit codes: 0 done, 1 the command found what it looks for (a breach, drift, a fault), 2 bad
usage or input. A traceback never reaches the terminal.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from .faults import explained
from .parser import build_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: the process's) and returns its exit code."""
    _tolerate_signs()
    try:
        namespace = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed: help is 0, a bad word is 2
        return int(stop.code or 0)
    return run(namespace)


def run(namespace: argparse.Namespace) -> int:
    """Runs the command that a parsed namespace names; the host's handler calls this too."""
    _tolerate_signs()  # in the host's own program nobody has done so yet
    try:
        code: int = namespace.telemetry_command(namespace)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted. Python flushes stdout once more at exit,
        # which would fail again and print.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _complain(namespace, "interrupted")
    except Exception as error:
        return _complain(namespace, explained(error, namespace))
    return code


def _tolerate_signs() -> None:
    """A terminal or pipe whose encoding lacks a sign ("≥") gets a "?" for it, not a failure.

    JSON is printed in ASCII, so nothing is lost in it. stderr is tolerant by itself.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


def _complain(namespace: argparse.Namespace, message: str) -> int:
    line = " ".join(message.split())
    print(f"hermes-telemetry {namespace.telemetry_name}: {line}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
