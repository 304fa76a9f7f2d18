"""Deleting old failed attempts while a recorder writes, and saying beforehand what would go."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing

from calling import Session, begun, list_its_price
from children import limited
from figures import Figure, Setting, medians, quantile

from hermes_telemetry.paths import database_path
from hermes_telemetry.store.files import open_ledger
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.store.retention import PruneRule, preview

_EVERY_S = 0.005

# Sixty days of which fifty, and so five sixths of the rows, are to go.
_BEFORE = "2026-06-19T00:00:00"
_FAILURES = """
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < :rows)
    insert into llm_call_errors (session_id, ts, model, provider, status_code, error_type)
    select
      's' || (i / 40),
      strftime('%Y-%m-%dT%H:%M:%S', '2026-04-30', (i * 60.0 / :rows) || ' days')
        || '.000000+00:00',
      'model' || (i % 5),
      'provider' || (i % 3),
      400 + (i % 7),
      'RateLimitError'
    from n
"""


def group(setting: Setting) -> Iterator[Figure]:
    rows = setting.size(600_000, 3_000)
    gone = rows * 5 // 6
    found = medians(_measure(setting, rows, number) for number in range(setting.runs))
    yield Figure(f"preview of pruning {gone:,} of {rows:,}", found["preview"], "ms", 400)
    yield Figure(f"prune {gone:,} of {rows:,} beside a writer", found["seconds"], "s", 10)
    yield Figure("  the writer meanwhile: p99", found["p99"], "ms", 15)
    yield Figure("  the writer meanwhile: worst", found["worst"], "ms", 30)
    yield Figure("  rows that are left and should be gone", found["left"] - (rows - gone), "", 0)


def _measure(setting: Setting, rows: int, number: int) -> dict[str, float]:
    home = setting.scratch / f"run {number}"
    home.mkdir()
    list_its_price(home)
    path = database_path(home)
    migrate(path)
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute(_FAILURES, {"rows": rows})
    with closing(open_ledger(path)) as conn:
        began = time.perf_counter()
        preview(conn, PruneRule(before=_BEFORE))
        previewed = (time.perf_counter() - began) * 1000
    session = begun(home, "beside pruning")
    began = time.perf_counter()
    pruning = subprocess.Popen(
        [
            *(sys.executable, "-m", "hermes_telemetry.commands.cli"),
            *("prune", "--db", path, "--before", f"{_BEFORE}+00:00", "--apply"),
        ],
        stdout=subprocess.DEVNULL,
    )
    with limited(pruning, "prune"):
        times = _write_beside(pruning, session)
    seconds = time.perf_counter() - began
    if pruning.returncode:
        raise SystemExit(f"prune exited with {pruning.returncode}")
    with closing(sqlite3.connect(path)) as conn:
        (left,) = conn.execute("select count(*) from llm_call_errors").fetchone()
    return {
        "preview": previewed,
        "seconds": seconds,
        "p99": quantile(times, 0.99),
        "worst": max(times),
        "left": left,
    }


def _write_beside(pruning: subprocess.Popen[bytes], session: Session) -> list[float]:
    """Make a call every 5 ms until it has ended: milliseconds of each."""
    times = []
    while pruning.poll() is None:
        times.append(session.call())
        time.sleep(max(0.0, _EVERY_S - times[-1] / 1000))
    return times
