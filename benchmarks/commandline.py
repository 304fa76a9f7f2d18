"""Commands that read or write a whole ledger, each as a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from children import run
from figures import Figure, Setting, medians
from ledgers import LARGE, SMALL, ledger


def group(setting: Setting) -> Iterator[Figure]:
    large, small = ledger(setting, LARGE, fresh=True), ledger(setting, SMALL)
    calls, few = f"{LARGE.of(setting):,} calls", f"{SMALL.of(setting):,} calls"

    def once(number: int) -> dict[str, float]:
        out = setting.scratch / str(number)
        return {
            f"forecast of a month, {calls}": _seconds("forecast", "--db", large),
            f"forecast --backtest, {calls}": _seconds("forecast", "--backtest", "--db", large),
            f"merge into a new ledger, {few}": _seconds("merge", f"{out}.db", small),
            f"merge the same again, {few}": _seconds("merge", f"{out}.db", small),
            f"export as CSV, {few}": _seconds("export", out, "--db", small),
        }

    for name, seconds in medians(once(number) for number in range(setting.runs)).items():
        yield Figure(name, seconds, "s")


def _seconds(*words: str | Path) -> float:
    began = time.perf_counter()
    command = " ".join(map(str, words))
    done = run(
        [sys.executable, "-m", "hermes_telemetry.commands.cli", *words],
        command,
        stdout=subprocess.DEVNULL,
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit code {done.returncode}")
    return time.perf_counter() - began
