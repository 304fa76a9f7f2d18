"""What ``doctor --repair`` does to a ledger: heal its shape, bring in what waits, correct totals.

No row of what a host did is deleted. An upgrade past v17 takes out free models without evidence,
and says so.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ..windows import SYSTEM_CLOCK
from . import files, migrations, run_totals
from .connection import Ledger
from .locking import Transaction, begin_patiently
from .maintenance import open_writable
from .upgrade import PRUNED_BY_V17, describe_pruned, pruned, upgrade_lock


def repair(path: Path) -> list[str]:
    """Repair the ledger at ``path``; one line for each thing that was done, none if none was.

    Raises NotALedgerError, sqlite3.Error or OSError; what was done before stays done. Not for a
    file whose pages are damaged: that is a case for a copy.
    """
    return [*_heal(path), *_bring_in(path), *_recompute(path)]


def _heal(path: Path) -> list[str]:
    with closing(files.open_ledger(path)) as conn:
        missing = migrations.lost_pieces(conn)
    with upgrade_lock(path, wait=True):
        before = files.shape(path, counted=PRUNED_BY_V17)
        applied = migrations.migrate(path)
        deleted = pruned(before, files.shape(path, counted=PRUNED_BY_V17))
    if applied:
        return [
            "schema: applied " + ", ".join(f"v{version}" for version in applied),
            *(f"schema: deleted {describe_pruned(*each)}" for each in deleted.items()),
        ]
    if missing:
        return ["schema: added " + ", ".join(missing)]
    return []


def _bring_in(path: Path) -> list[str]:
    ledger = Ledger(path, patient=True)
    waited = _waiting(ledger)
    try:
        ledger.bring_in()
    finally:
        ledger.close()
    left = _waiting(ledger)
    if waited is None or left is None or left >= waited:
        return []
    return [f"records brought in from the spill file: {waited - left:,}"]


def _waiting(ledger: Ledger) -> int | None:
    """How many records wait; None when a batch cannot be read, which is a finding of its own."""
    try:
        return ledger.spill.waiting_lines()
    except OSError:
        return None


def _recompute(path: Path) -> list[str]:
    with closing(open_writable(path)) as conn:
        differing = run_totals.differences(conn)
        for difference in differing:
            with Transaction(conn, begin_patiently(SYSTEM_CLOCK)):
                run_totals.recompute(conn, difference.session_id)
    if differing:
        return [f"runs recomputed from their calls: {len(differing):,}"]
    return []
