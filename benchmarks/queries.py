"""Every canned query with its defaults, on a year of calls and on five years of as many a day."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from figures import Figure, Setting, medians
from ledgers import LARGE, OLD, clock_at_end, ledger

from hermes_telemetry.reports import load_queries, prepare_connection, run
from hermes_telemetry.windows import machine_zone

_LIMIT_MS, _GROWTH, _FREE_MS = 150, 1.5, 20


def group(setting: Setting) -> Iterator[Figure]:
    paths = {size: ledger(setting, size) for size in (LARGE, OLD)}
    with ExitStack() as stack:
        conns = {
            size: stack.enter_context(closing(_prepared(path))) for size, path in paths.items()
        }
        for name in load_queries():
            # The first of each reads its pages from the disk.
            runs = [
                {str(size.days): _ms(conn, name) for size, conn in conns.items()}
                for _ in range(setting.runs + 1)
            ][1:]
            year, years = medians(runs).values()
            calls = {size: f"{size.of(setting):,} calls" for size in paths}
            yield Figure(f"query {name}, {calls[LARGE]}", year, "ms", _LIMIT_MS)
            most = max(_GROWTH * year, _FREE_MS)
            yield Figure(f"query {name}, {calls[OLD]}", years, "ms", most)


def _prepared(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path.resolve().as_uri() + "?mode=ro", uri=True)
    prepare_connection(conn, machine_zone(), clock_at_end(path))
    return conn


def _ms(conn: sqlite3.Connection, name: str) -> float:
    began = time.perf_counter()
    run(conn, load_queries()[name], {})
    return (time.perf_counter() - began) * 1000
