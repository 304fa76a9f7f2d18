"""How long hooks take while another process holds the ledger, in real time.

    python benchmarks/locked_out.py [--seconds 60] [--hooks 200]

Prints a table: the longest hook before the breaker opened, and the percentiles after it did; then
the same for a recorder that starts while the file is held with ``locking_mode=EXCLUSIVE``.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ["HERMES_TELEMETRY_NO_SETUP"] = "1"

from children import limited

from hermes_telemetry.paths import database_path
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.migrations import migrate

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""
IN_A_TRANSACTION = ("begin immediate",)
EXCLUSIVELY = ("pragma locking_mode = exclusive", "begin immediate", "commit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long the lock is held")
    parser.add_argument("--hooks", type=int, default=200, help="hooks fired meanwhile")
    asked = parser.parse_args()
    print(f"{'held':24} {'first ms':>9} {'p50 ms':>8} {'p99 ms':>8} {'worst ms':>9} {'rows':>6}")
    for name, statements, warm in (
        ("write transaction", IN_A_TRANSACTION, True),
        ("exclusive, recorder new", EXCLUSIVELY, False),
    ):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name:24} {measure(Path(folder), statements, warm, asked)}")


def measure(home: Path, statements: tuple[str, ...], warm: bool, asked: argparse.Namespace) -> str:
    path = database_path(home)
    migrate(path)
    fire = Recorder(home).hooks()["post_api_request"]
    if warm:
        call(fire, 0)
    times = []
    with held(path, statements):
        until = time.monotonic() + asked.seconds
        for number in range(1, asked.hooks + 1):
            began = time.perf_counter()
            call(fire, number)
            times.append((time.perf_counter() - began) * 1000)
            left = until - time.monotonic()
            if left > 0:
                time.sleep(left / (asked.hooks - number + 1))
    call(fire, asked.hooks + 1)
    rows = sqlite3.connect(path).execute("select count(*) from llm_calls").fetchone()[0]
    after = sorted(times[1:])
    p99 = after[int(len(after) * 0.99)]
    return f"{times[0]:9.1f} {statistics.median(after):8.1f} {p99:8.1f} {after[-1]:9.1f} {rows:6}"


@contextmanager
def held(path: Path, statements: tuple[str, ...]) -> Iterator[None]:
    """Another process holds the ledger in the block."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        with limited(holder, "taking the ledger's lock"):
            if holder.stdout.readline() != "held\n":
                raise SystemExit("the ledger's lock could not be taken")
        try:
            yield
        finally:
            with limited(holder, "giving the ledger's lock back"):
                holder.communicate("")


def call(fire: Callable[..., object], number: int) -> None:
    turn = f"s:t:{number}"
    fire(
        session_id="s",
        turn_id=turn,
        api_request_id=f"{turn}:api:1",
        model="m",
        provider="p",
        usage={"input_tokens": 10, "output_tokens": 5},
    )


if __name__ == "__main__":
    main()
