"""What `gate.py` finds, as lines of the one table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from children import run
from figures import Figure, Setting
from ledgers import LARGE

_CASE = re.compile(
    r"(?P<case>.{34}) +(?P<p50>[\d.]+) +(?P<p99>[\d.]+) +(?P<worst>[\d.]+) +(?P<work>[\d.]+)"
    r" +p99 <= (?P<limit>[\d.]+) ms, (?P<promise>.+): (?P<result>\w+)"
)


def group(setting: Setting) -> Iterator[Figure]:
    calls, asked = LARGE.of(setting), setting.size(2000, 20)
    options = ("--calls", calls, "--asked", asked, "--seconds", setting.size(60, 1))
    done = run(
        [sys.executable, Path(__file__).with_name("gate.py"), *map(str, options)],
        "gate.py",
        limit_s=900,
        stdout=subprocess.PIPE,
    )
    cases = list(_CASE.finditer(done.stdout))
    if not cases or done.returncode not in (0, 1):
        raise SystemExit(f"gate.py: exit code {done.returncode}, {done.stdout!r}")
    for case in cases:
        name, promise = case["case"].strip(), case["promise"]
        broken = f"not so: {promise}" if case["result"] == "WRONG" else ""
        yield Figure(
            f"gate, {name}: p99", float(case["p99"]), "ms", float(case["limit"]), lacking=broken
        )
