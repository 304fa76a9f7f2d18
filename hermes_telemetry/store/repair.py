"""What ``doctor --repair`` does to a ledger: heal its shape, bring in what waits, correct totals.

No row is ever deleted.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ..windows import SYSTEM_CLOCK, Clock
from . import files, healing, migrations, run_totals
from .connection import Ledger
from .locking import PATIENCE_S, patiently
from .maintenance import open_writable
from .upgrade import upgrade_lock


def repair(path: Path, clock: Clock = SYSTEM_CLOCK) -> list[str]:
    """Repair the ledger at ``path``; one line for each thing that was done, none if none was.

    Raises NotALedgerError, sqlite3.Error or OSError; what was done before stays done. Not for a
    file whose pages are damaged: that is a case for a copy.
    """
    return [*_heal(path), *_bring_in(path, clock), *_recompute(path, clock)]


def _heal(path: Path) -> list[str]:
    with closing(files.open_ledger(path)) as conn:
        missing = healing.missing_pieces(conn)
    with upgrade_lock(path, wait=True):
        applied = migrations.migrate(path)
    if applied:
        return ["schema: applied " + ", ".join(f"v{version}" for version in applied)]
    if missing:
        return ["schema: added " + ", ".join(missing)]
    return []


def _bring_in(path: Path, clock: Clock) -> list[str]:
    ledger = Ledger(path, clock=clock, patient=True)
    waited = ledger.spill.waiting_lines()
    try:
        ledger.bring_in()
    finally:
        ledger.close()
    came = waited - ledger.spill.waiting_lines()
    return [f"records brought in from the spill file: {came:,}"] if came > 0 else []


def _recompute(path: Path, clock: Clock) -> list[str]:
    with closing(open_writable(path)) as conn:
        differing = run_totals.differences(conn)
        for difference in differing:
            _recompute_run(conn, difference.session_id, clock)
    if differing:
        return [f"runs recomputed from their calls: {len(differing):,}"]
    return []


def _recompute_run(conn: sqlite3.Connection, session_id: str, clock: Clock) -> None:
    patiently(clock, clock.monotonic() + PATIENCE_S, lambda: conn.execute("begin immediate"))
    try:
        run_totals.recompute(conn, session_id)
        conn.execute("commit")
    except BaseException:
        if conn.in_transaction:
            conn.execute("rollback")
        raise
