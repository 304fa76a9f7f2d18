"""Many threads and processes that record at once: how long one waits for another."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calling import list_its_price
from children import LIMIT_S, limited
from figures import Figure, Setting, medians, quantile
from ledgers import SMALL, copy

from hermes_telemetry.paths import database_path

_PAUSE_MS = 5


@dataclass(frozen=True)
class Crowd:
    """So many processes of so many threads; a ``pause`` of 0 is a tight loop."""

    processes: int
    threads: int
    pause: float

    def __str__(self) -> str:
        many = f"{self.processes} processes × {self.threads} threads"
        who = many if self.processes > 1 else f"{self.threads} threads"
        return f"{who}, pausing {self.pause:g} ms" if self.pause else f"{who} in tight loops"


CROWDS = tuple(
    Crowd(processes, threads, pause)
    for pause in (_PAUSE_MS, 0)
    for processes, threads in ((1, 8), (4, 2))
)


def group(setting: Setting) -> Iterator[Figure]:
    home = copy(setting, SMALL, "crowds")
    list_its_price(home)
    found: dict[Crowd, list[dict[str, float]]] = {crowd: [] for crowd in CROWDS}
    for run in range(setting.runs):
        for crowd in CROWDS:
            found[crowd].append(_measure(setting, home, crowd, run))
    for crowd, runs in found.items():
        median = medians(runs)
        if crowd.pause:
            yield Figure(f"{crowd}: p99", median["p99"], "ms", 5)
        yield Figure(f"{crowd}: worst", median["worst"], "ms", 50 if crowd.pause else 250)
        # Not the median: one lost call is one too many.
        yield Figure(f"{crowd}: calls lost", max(run["lost"] for run in runs), "", 0)
        yield Figure(f"{crowd}: errors logged", max(run["said"] for run in runs), "", 0)


def _measure(setting: Setting, home: Path, crowd: Crowd, run: int) -> dict[str, float]:
    calls = setting.size(1000 if crowd.pause else 2000, 20)
    before = _count(home)
    names = [f"crowd {CROWDS.index(crowd)}, run {run}, {n}" for n in range(crowd.processes)]
    options = ["--threads", str(crowd.threads), "--calls", str(calls), "--pause", str(crowd.pause)]
    answers = call_in_processes(home, names, options)
    times = [ms for answer in answers for ms in answer["ms"]]
    return {
        "p99": quantile(times, 0.99),
        "worst": max(times),
        "lost": calls * crowd.threads * crowd.processes - (_count(home) - before),
        "said": sum(len(answer["said"]) for answer in answers),
    }


def call_in_processes(
    home: Path, names: list[str], options: list[str], limit_s: float = LIMIT_S
) -> list[dict[str, Any]]:
    """Run `calling.py` once for each name, all at the same time: what each printed."""
    script = Path(__file__).with_name("calling.py")
    with ExitStack() as stack:
        workers = []
        for name in names:
            worker = subprocess.Popen(
                [sys.executable, script, home, name, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            workers.append(stack.enter_context(worker))
            stack.enter_context(limited(worker, f"calling.py {name!r}", limit_s))
        for worker in workers:
            assert worker.stdout is not None
            said = worker.stdout.readline()
            if said != "ready\n":
                raise SystemExit(f"calling.py did not begin, but said {said!r}")
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        answers = [worker.communicate()[0] for worker in workers]
    failed = [worker.returncode for worker in workers if worker.returncode]
    if failed:
        raise SystemExit(f"calling.py: exit code {failed[0]}")
    return [json.loads(answer) for answer in answers]


def _count(home: Path) -> int:
    with closing(sqlite3.connect(database_path(home))) as conn:
        count: int = conn.execute("select count(*) from llm_calls").fetchone()[0]
        return count
