"""What `gate.py` finds, as lines of the one table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from children import run
from figures import Figure, Setting
from ledgers import LARGE

_CASE = re.compile(
    r"(?P<case>.{34}) +(?P<p50>[\d.]+) +(?P<p99>[\d.]+) +(?P<worst>[\d.]+) +(?P<work>[\d.]+)"
    r" +p99 <= (?P<limit>[\d.]+) ms, (?P<promise>.+): (?P<result>\w+)"
)


def group(setting: Setting) -> Iterator[Figure]:
    # The ledger is held for a minute in the first run alone.
    first, *others = (
        _cases(setting, setting.size(60, 1) if number == 0 else 1) for number in range(setting.runs)
    )
    for name, case in first.items():
        runs = [case, *(cases[name] for cases in others if name in cases)]
        broken = next((f"not so: {run['promise']}" for run in runs if run["result"] == "WRONG"), "")
        p99 = median(float(run["p99"]) for run in runs)
        yield Figure(f"gate, {name}: p99", p99, "ms", float(case["limit"]), lacking=broken)


def _cases(setting: Setting, seconds: int) -> dict[str, re.Match[str]]:
    """What one run of `gate.py` prints, by the name of the case."""
    calls, asked = LARGE.of(setting), setting.size(2000, 20)
    options = ("--calls", calls, "--asked", asked, "--seconds", seconds)
    done = run(
        [sys.executable, Path(__file__).with_name("gate.py"), *map(str, options)],
        "gate.py",
        limit_s=900,
        stdout=subprocess.PIPE,
    )
    cases = {case["case"].strip(): case for case in _CASE.finditer(done.stdout)}
    if not cases or done.returncode not in (0, 1):
        raise SystemExit(f"gate.py: exit code {done.returncode}, {done.stdout!r}")
    return cases
