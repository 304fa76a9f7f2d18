"""How much of the processor the help of each command takes; more than 0.25 s fails.

    python benchmarks/help.py [--runs 5]

Prints the median of each command's user time in seconds, of a process of its own each, beside that
of a Python that does nothing. Exits 1 if a command takes longer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

from children import limited

from hermes_telemetry.commands.parser import build_parser

GOAL_SECONDS = 0.25


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="of each command")
    runs = parser.parse_args().runs
    print(f"{'command':24} {'user s':>7}")
    print(f"{'(python -c pass)':24} {user_seconds(['-c', 'pass'], runs):7.3f}")
    slow = []
    for words in commands(build_parser()):
        arguments = ["-m", "hermes_telemetry.commands.cli", *words, "--help"]
        seconds = user_seconds(arguments, runs)
        verdict = "" if seconds <= GOAL_SECONDS else f"  more than {GOAL_SECONDS}"
        slow += [words] if verdict else []
        print(f"{' '.join(words) or 'hermes-telemetry':24} {seconds:7.3f}{verdict}")
    return int(bool(slow))


def commands(parser: argparse.ArgumentParser, *before: str) -> Iterator[list[str]]:
    """The words of the parser itself and of each command below it."""
    yield list(before)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands(below, *before, name)


def user_seconds(arguments: list[str], runs: int) -> float:
    """The median user time of Python with these arguments."""
    taken = []
    for _ in range(runs):
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        with limited(process, " ".join(arguments)):
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{arguments} exited with {process.returncode}")
        taken.append(usage.ru_utime)
    return statistics.median(taken)


if __name__ == "__main__":
    sys.exit(main())
