"""Work on a whole ledger that only a command does: giving space back, indexes, statistics.

Beside a live recorder: what holds the write lock for longer than a hook may wait sends its records
to the spill file meanwhile, and they come in with its next write.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ..windows import SYSTEM_CLOCK, Clock, bound
from . import extras, files, migrations
from .locking import PATIENCE_S, Transaction, begin_patiently, patiently
from .spill import Spill

MARKER_AGE = timedelta(days=30)
"""How long the marker of a spilled batch outlives the batch; see ``spill.py``."""


class OldLedgerError(Exception):
    """The ledger has an older schema than this work needs; the text names the command to run."""


class NoRoomError(Exception):
    """The disk has no room for rewriting the file."""


@dataclass(frozen=True)
class Vacuumed:
    """Sizes of the database file in bytes; the new one is final only when ``settled``.

    Otherwise a reader holds on to the former pages, and the file shrinks at a later checkpoint.
    """

    bytes_before: int
    bytes_after: int
    settled: bool


@dataclass(frozen=True)
class Optimized:
    """What was done: indexes and views made, old markers removed, log bytes left.

    Not ``log_emptied``: a reader held on to the log for 30 s.
    """

    made: tuple[str, ...]
    markers_removed: int
    log_bytes: int
    log_emptied: bool


def open_current(path: Path) -> sqlite3.Connection:
    """A read-only connection to a current ledger. Raises NotALedgerError or OldLedgerError."""
    conn = files.open_ledger(path)
    try:
        require_current(conn, path)
    except BaseException:
        conn.close()
        raise
    return conn


def open_writable(path: Path) -> sqlite3.Connection:
    """A connection to a current ledger in autocommit mode, without a busy timeout.

    The file is never made. Raises NotALedgerError or OldLedgerError.
    """
    files.open_ledger(path).close()
    conn = sqlite3.connect(
        path.resolve().as_uri() + "?mode=rw", uri=True, timeout=0, isolation_level=None
    )
    try:
        # What reads first meets whoever recovers the log of a killed process, or moves it in as
        # the last to leave. From then on the log is in our hands, too.
        deadline = SYSTEM_CLOCK.monotonic() + PATIENCE_S
        patiently(SYSTEM_CLOCK, deadline, lambda: conn.execute("pragma synchronous = normal"))
        require_current(conn, path)
    except BaseException:
        conn.close()
        raise
    return conn


def require_current(conn: sqlite3.Connection, path: Path) -> None:
    """Raises OldLedgerError unless the file records every schema version known here."""
    if migrations.pending_versions(conn):
        command = f"hermes-telemetry migrate{files.db_option(path)}"
        raise OldLedgerError(f"{path} has an older schema: run `{command}` first")


def vacuum(path: Path, clock: Clock = SYSTEM_CLOCK) -> Vacuumed:
    """Rewrite the file without the space of deleted rows.

    Raises NoRoomError when the disk cannot hold the copies that this needs for a while,
    sqlite3.OperationalError when the ledger stays locked for 30 s.
    """
    with closing(open_writable(path)) as conn:
        before = path.stat().st_size
        # One copy in a temporary file, one in the log.
        room = shutil.disk_usage(path.parent).free
        needed = 2 * _live_bytes(conn)
        if room < needed:
            raise NoRoomError(
                f"rewriting {path} takes {needed:,} bytes for a while, {room:,} are free"
            )
        patiently(clock, clock.monotonic() + PATIENCE_S, lambda: conn.execute("vacuum"))
        settled = _empty_log(conn, clock)
        return Vacuumed(before, path.stat().st_size, settled)


def optimize(
    path: Path, step: Callable[[str], None] | None = None, clock: Clock = SYSTEM_CLOCK
) -> Optimized:
    """Speed indexes, views and price record where they are missing, statistics, an empty log.

    ``step`` is told in words what comes next. Markers of spilled batches that came in more than 30
    days ago go. Raises NotALedgerError, OldLedgerError or sqlite3.Error.
    """
    begin = begin_patiently(clock)
    say = step or (lambda words: None)
    with closing(open_writable(path)) as conn:
        before = files.shape(path).objects
        say("indexes and views")
        extras.ensure_price_record(conn, begin)
        extras.ensure_speed(conn, begin)
        made = files.shape(path).objects - before
        say("statistics")
        conn.execute("pragma analysis_limit = 1000")
        with Transaction(conn, begin):
            conn.execute("analyze")
            removed = _remove_markers(conn, path, clock)
        say("write-ahead log")
        emptied = _empty_log(conn, clock)
    return Optimized(tuple(sorted(made)), removed, wal_bytes(path), emptied)


def wal_bytes(path: Path) -> int:
    """Size of the write-ahead log; by stat, since opening it by hand would drop SQLite's locks."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        return 0


def _live_bytes(conn: sqlite3.Connection) -> int:
    pages, free, size = (
        conn.execute(f"pragma {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _empty_log(conn: sqlite3.Connection, clock: Clock) -> bool:
    """Move the whole log into the file and cut it to nothing; False if readers hold on to it."""
    deadline = clock.monotonic() + PATIENCE_S
    while True:
        # A checkpoint that meets a lock says so in its row instead of raising.
        busy, *_ = conn.execute("pragma wal_checkpoint(truncate)").fetchone()
        if not busy or clock.monotonic() >= deadline:
            return not busy
        clock.sleep(0.01)


def _remove_markers(conn: sqlite3.Connection, path: Path, clock: Clock) -> int:
    there = {batch.name for batch in Spill(path, clock).batches()}
    old = conn.execute(
        """
        select cache_key
        from endpoint_payload_cache
        where cache_name = 'spill'
          and cache_key <> 'dropped'
          and built_at < ?
        """,
        (bound(clock.now() - MARKER_AGE),),
    ).fetchall()
    gone = [key for (key,) in old if key not in there]
    conn.executemany(
        "delete from endpoint_payload_cache where cache_name = 'spill' and cache_key = ?",
        [(key,) for key in gone],
    )
    return len(gone)
