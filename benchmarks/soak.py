"""A day of a busy gateway in short: many threads record while Datasette reads and old failed
attempts are pruned.

Sessions end and others begin, each on a thread of its own, as in a gateway. Memory is what a
process has for itself: anonymous pages, not those of files that it maps, which the system takes
back when it wants to. After a warm-up of a tenth of the soak it must stay as it is: the median of
the last tenth by that of the tenth after the warm-up.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from http.client import HTTPException
from pathlib import Path
from statistics import median

from calling import list_its_price
from children import LIMIT_S
from crowds import call_in_processes
from figures import Figure, Setting
from ledgers import SMALL, copy
from pages import PAGES, QUERIES, TABLE
from serving import Served

from hermes_telemetry.paths import database_path
from hermes_telemetry.reports import load_queries, prepare_connection, run
from hermes_telemetry.store.retention import PruneRule, prune
from hermes_telemetry.windows import SYSTEM_CLOCK, bound

_THREADS = 20
_READERS = 2
_PAUSE_MS = 20
_SESSION_CALLS = 50
_READ_EVERY_S = 0.1
_LOOK_EVERY_S = 0.05
_LIMIT_S = 900
_PRUNED_AFTER = timedelta(seconds=2)
_SETTLED = (0.1, 0.2)
"""The tenth after the warm-up: caches are filled by then."""

_END = (0.9, 1.0)


def group(setting: Setting) -> Iterator[Figure]:
    home = copy(setting, SMALL, "soak")
    list_its_price(home)
    path = database_path(home)
    before = _calls(path)
    calls = setting.size(100_000, 2_000)
    options = ["--threads", _THREADS, "--calls", calls // _THREADS, "--pause", _PAUSE_MS]
    options += ["--renew", _SESSION_CALLS, "--fail"]
    with Served(path) as served:
        served.ms(PAGES["overview"])
        beside = _Beside(path, served)
        with beside:
            (answer,) = call_in_processes(home, ["soak"], list(map(str, options)), _LIMIT_S)
    title = f"soak, {calls:,} calls by {_THREADS} threads"
    yield _growth(f"{title}: its memory's growth", answer["memory"])
    yield _growth(f"{title}: the server's", beside.memory)
    yield Figure(f"{title}: errors logged", len(answer["said"]), "", 0)
    yield Figure(f"{title}: pages refused", beside.refused, "", 0)
    yield Figure(f"{title}: prunings that failed", beside.failed, "", 0)
    yield Figure(f"{title}: calls lost", before + calls - _calls(path), "", 0)
    yield Figure(f"{title}: runs that do not add up", _unreconciled(path), "", 0)
    yield Figure("  pages read meanwhile", beside.read, "")
    yield Figure("  failed attempts pruned meanwhile", beside.pruned, "")


class _Beside:
    """What goes on while calls are recorded, in threads: reading, pruning and a look at memory."""

    def __init__(self, path: Path, served: Served) -> None:
        self.read = self.refused = self.pruned = self.failed = 0
        self.memory: list[tuple[float, int]] = []
        self._path = path
        self._served = served
        self._ended = threading.Event()
        works = {"prune": self._prune, "memory": self._look}
        works |= {f"reader {n}": partial(self._read, n) for n in range(_READERS)}
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True) for name, work in works.items()
        ]
        self._began = time.monotonic()

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(LIMIT_S)
            if thread.is_alive():
                raise SystemExit(f"{thread.name} hung: still at work after {LIMIT_S:g} s")
        whole = time.monotonic() - self._began
        self.memory = [(at / whole, size) for at, size in self.memory]

    def _read(self, number: int) -> None:
        wanted = (*PAGES.values(), *QUERIES, TABLE)
        while not self._ended.wait(_READ_EVERY_S):
            try:
                self.refused += self._served.get(wanted[number % len(wanted)]).status != 200
            except (OSError, HTTPException):  # such as a time-out
                self.refused += 1
            self.read += 1
            number += 1

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            self.memory.append((time.monotonic() - self._began, self._served.memory_bytes()))

    def _prune(self) -> None:
        while not self._ended.wait(1):
            before = bound(SYSTEM_CLOCK.now() - _PRUNED_AFTER)
            try:
                self.pruned += prune(self._path, PruneRule(before=before)).deleted
            except sqlite3.Error:
                self.failed += 1


def _growth(name: str, memory: Sequence[tuple[float, int]]) -> Figure:
    settled, end = (_memory_in(memory, *tenth) for tenth in (_SETTLED, _END))
    if not (settled and end):
        return Figure(name, 0, "×", 1.1, lacking="this system does not say how much memory it has")
    return Figure(name, end / settled, "×", 1.1)


def _memory_in(memory: Sequence[tuple[float, int]], first: float, last: float) -> float:
    """Bytes in that part of the soak; of a short one, of which no look fell into it, nearby."""
    sizes = [size for at, size in memory if first <= at <= last]
    if not sizes and memory:
        sizes = [min(memory, key=lambda look: abs(look[0] - (first + last) / 2))[1]]
    return median(sizes) if sizes else 0.0


def _calls(path: Path) -> int:
    with closing(sqlite3.connect(path)) as conn:
        count: int = conn.execute("select count(*) from llm_calls").fetchone()[0]
        return count


def _unreconciled(path: Path) -> int:
    with closing(sqlite3.connect(path)) as conn:
        prepare_connection(conn, "UTC")
        _, rows = run(conn, load_queries()["reconcile"], {"since": "all"})
        return len(rows)
