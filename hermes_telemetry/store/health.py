"""What is wrong with a ledger, and what it says of itself: the checks behind ``doctor``.

Each check looks at one thing, read-only, and says what it found even when nothing is wrong. What
only a human can judge is a note.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from ..money import usd
from ..windows import SYSTEM_CLOCK, Clock, bound
from . import extras, files, migrations, run_totals
from .maintenance import wal_bytes
from .sightings import PROVEN_BY, sightings
from .spill import Spill

LONG_LOG_BYTES = 64 * 1024 * 1024
LEAST_FREE_SHARE = 0.05
CLOCK_TOLERANCE = timedelta(minutes=5)
"""How far a timestamp may be ahead before it counts as one from the future."""

RECENT = timedelta(days=30)
"""The span of shares and growth, and how long dropped records stay a fault."""

_RECOVER = (
    "stop Hermes, copy the file away, then `sqlite3 COPY .recover | sqlite3 NEW` (`.dump` where"
    " this sqlite3 cannot recover) and put NEW in its place"
)

_FOREIGN_FILE = "make it readable for this user, or look as the user that runs Hermes"
_OTHER_HOOKS = "upgrade hermes-telemetry: this Hermes names its hooks differently"

State = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """What one check found, and for a fault (and some notes) what to do about it."""

    check: str
    state: State
    text: str
    advice: str = ""


@dataclass(frozen=True)
class _Opened:
    path: Path
    conn: sqlite3.Connection
    clock: Clock

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def run(self, command: str) -> str:
        """Advice to run a command of ours on this file."""
        return f"run `hermes-telemetry {command}{files.db_option(self.path)}`"

    def one(self, sql: str, *values: object) -> tuple[int, ...]:
        """The only row of a query of counts, NULL as 0."""
        return tuple(value or 0 for value in self.conn.execute(sql, values).fetchone())


def examine(path: Path, clock: Clock = SYSTEM_CLOCK) -> list[Finding]:
    """Every check's findings on the ledger at ``path``. Raises NotALedgerError."""
    try:
        conn = files.open_ledger(path)
    except files.NotALedgerError as error:
        cause = error.__cause__
        if isinstance(cause, sqlite3.DatabaseError):
            return [_unreadable(cause)]
        raise
    with closing(conn):
        opened = _Opened(path, conn, clock)
        return [
            finding for name, check in _CHECKS.items() for finding in _safely(name, check, opened)
        ]


def may_be_repaired(findings: list[Finding]) -> bool:
    """Whether the file can be read and its pages are sound, so that one may write to it."""
    return not any(
        finding.state == "fault" and finding.check in ("integrity", "access")
        for finding in findings
    )


def _unreadable(cause: sqlite3.DatabaseError) -> Finding:
    if _primary_code(cause) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Finding("integrity", "fault", f"the file is damaged: {cause}", _RECOVER)
    return Finding(
        "access",
        "fault",
        f"the file cannot be read: {cause}",
        "check the permissions of file and folder, and what else holds the file",
    )


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _safely(
    name: str, check: Callable[[_Opened], Iterator[Finding]], opened: _Opened
) -> list[Finding]:
    """A check's findings; one that an old or a damaged file cannot answer becomes a note, a file
    that cannot be read a fault.
    """
    try:
        return list(check(opened))
    except sqlite3.DatabaseError as error:
        if name == "integrity":
            return [_unreadable(error)]
        return [Finding(name, "note", f"could not be looked at: {error}")]
    except FileNotFoundError as error:  # a recorder beside us has just brought it in
        return [Finding(name, "note", f"{error.filename} went away: look again")]
    except OSError as error:
        text = f"{error.filename or 'a file'} cannot be read: {error.strerror}"
        return [Finding(name, "fault", text, _FOREIGN_FILE)]


def _integrity(opened: _Opened) -> Iterator[Finding]:
    """Reads every page, and every index against its table."""
    faults = [
        " ".join(text.split()) for (text,) in opened.conn.execute("pragma integrity_check(100)")
    ]
    if faults == ["ok"]:
        (pages,) = opened.one("pragma page_count")
        yield Finding("integrity", "ok", f"every page and index is sound ({pages:,} pages)")
        return
    advice = _RECOVER
    if all("index" in fault for fault in faults):
        advice = "stop Hermes, copy the file away, then `sqlite3 FILE reindex`"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    yield Finding("integrity", "fault", f"the file is damaged: {faults[0][:200]}{more}", advice)


def _schema(opened: _Opened) -> Iterator[Finding]:
    known = migrations._SCHEMA_VERSION
    versions = migrations._versions(opened.conn)
    pending = migrations.pending_versions(opened.conn)
    newest = max(versions, default=0)
    if pending:
        yield Finding(
            "schema",
            "fault",
            f"version {newest}, older than the {known} known here",
            opened.run("migrate"),
        )
    elif newest > known:
        yield Finding(
            "schema",
            "fault",
            f"version {newest}, newer than the {known} known here: what it added stays empty",
            "upgrade hermes-telemetry",
        )
        return  # what it lacks it may have given up
    else:
        yield Finding("schema", "ok", f"version {newest}")
    missing = migrations.lost_pieces(opened.conn)
    if missing:
        yield Finding(
            "pieces",
            "fault",
            f"recorded as made, but missing: {', '.join(missing)}",
            opened.run("doctor --repair"),
        )
    else:
        yield Finding("pieces", "ok", "all tables, columns and indexes of its versions are there")


def _speed(opened: _Opened) -> Iterator[Finding]:
    there = extras.names(opened.conn)
    missing = (extras.SPEED_INDEXES.keys() | extras.VIEWS.keys()) - there
    if missing:
        yield Finding(
            "speed",
            "note",
            f"not there, so reports are slow or left out: {', '.join(sorted(missing))}",
            opened.run("optimize"),
        )
    else:
        yield Finding("speed", "ok", "all speed indexes and views are there")


def _run_totals(opened: _Opened) -> Iterator[Finding]:
    differing = run_totals.differences(opened.conn)
    if not differing:
        (runs,) = opened.one("select count(*) from runs")
        yield Finding("run totals", "ok", f"{_count(runs, 'run')} as their calls say")
        return
    worst = differing[0]
    yield Finding(
        "run totals",
        "fault",
        f"{_count(len(differing), 'run')} not as their calls say; {worst.session_id} has"
        f" {usd(worst.run_usd)} for {_count(worst.run_calls, 'call')} and {worst.run_tokens:,}"
        f" tokens instead of {usd(worst.calls_usd)} for {worst.calls:,} and"
        f" {worst.calls_tokens:,}",
        opened.run("doctor --repair"),
    )


def _timestamps(opened: _Opened) -> Iterator[Finding]:
    ahead = bound(opened.now + CLOCK_TOLERANCE)
    found = {
        table: opened.one(f"select count(*) from {table} where {column} >= ?", ahead)[0]
        for table, column in (
            ("llm_calls", "ts"),
            ("tool_calls", "ts"),
            ("llm_call_errors", "ts"),
            ("runs", "started_at"),
        )
    }
    if any(found.values()):
        rows = ", ".join(f"{count:,} in {table}" for table, count in found.items() if count)
        yield Finding(
            "timestamps",
            "fault",
            f"rows from the future: {rows}",
            "correct this machine's clock; until then they count on their own days",
        )
    else:
        yield Finding("timestamps", "ok", "no row is from the future")


def _log(opened: _Opened) -> Iterator[Finding]:
    size = wal_bytes(opened.path)
    if size > LONG_LOG_BYTES:
        yield Finding(
            "write-ahead log",
            "fault",
            f"{_megabytes(size)}: a reader holds on to it",
            "close what reads the ledger for long (a browser, a stuck query), then "
            + opened.run("optimize"),
        )
    else:
        yield Finding("write-ahead log", "ok", _megabytes(size))


def _spill(opened: _Opened) -> Iterator[Finding]:
    spill = Spill(opened.path, opened.clock)
    waiting = spill.waiting_lines()
    if waiting:
        yield Finding(
            "spill",
            "fault",
            f"{_count(waiting, 'record')} waiting beside the ledger for the next write",
            opened.run("doctor --repair") + " to bring them in",
        )
    else:
        yield Finding("spill", "ok", "no record waits beside the ledger")
    aside = spill.path.with_suffix(".rejected")
    try:
        rejected = len(aside.read_bytes().splitlines())
    except FileNotFoundError:
        rejected = 0
    if rejected:
        yield Finding(
            "rejected",
            "fault",
            f"{_count(rejected, 'record')} that waited could not be read back: {aside}",
            "look at the file, then delete it; its calls are missing from every total",
        )


def _dropped(opened: _Opened) -> Iterator[Finding]:
    row = opened.conn.execute(
        """
        select rows_count, built_at
        from endpoint_payload_cache
        where cache_name = 'spill'
          and cache_key = 'dropped'
        """
    ).fetchone()
    if row is None:
        yield Finding("dropped", "ok", "no record was ever dropped")
        return
    dropped, last = row
    yield Finding(
        "dropped",
        "fault" if last >= bound(opened.now - RECENT) else "note",
        f"{_count(dropped, 'record')} dropped, the last {last[:19]}Z: neither ledger nor spill file"
        " could be written",
        f"check room and permissions of {opened.path.parent}; totals of that time are too low",
    )


def _calls(opened: _Opened) -> Iterator[Finding]:
    calls, unpriced, estimated = opened.one(
        """
        select count(*), sum(cost_usd is null), sum(estimated = 1)
        from llm_calls
        where ts >= ?
        """,
        bound(opened.now - RECENT),
    )
    text = f"{calls:,} in the last {RECENT.days} days"
    if calls:
        text += f", {unpriced / calls:.1%} without a price, {estimated / calls:.1%} estimated"
    yield Finding("calls", "ok", text)


def _growth(opened: _Opened) -> Iterator[Finding]:
    since = bound(opened.now - RECENT)
    rows = recent = 0
    for table in ("llm_calls", "tool_calls", "llm_call_errors"):
        counted = opened.one(f"select count(*), sum(ts >= ?) from {table}", since)
        rows, recent = rows + counted[0], recent + counted[1]
    (pages,) = opened.one("pragma page_count")
    (unused,) = opened.one("pragma freelist_count")
    (page,) = opened.one("pragma page_size")
    grown = (pages - unused) * page * recent // max(rows, 1)
    yield Finding(
        "growth",
        "ok",
        f"{_megabytes(pages * page)}, {_megabytes(unused * page)} of it unused;"
        f" {recent:,} rows ({_megabytes(grown)}) in the last {RECENT.days} days",
    )


def _disk(opened: _Opened) -> Iterator[Finding]:
    disk = shutil.disk_usage(opened.path.parent)
    share = disk.free / disk.total
    text = f"{_megabytes(disk.free)} free ({share:.1%})"
    if share < LEAST_FREE_SHARE:
        yield Finding(
            "disk",
            "fault",
            text,
            "make room: once it is full, records are dropped",
        )
    else:
        yield Finding("disk", "ok", text)


def _hooks(opened: _Opened) -> Iterator[Finding]:
    hooks = sightings(opened.conn, opened.now)
    for gone in hooks.gone:
        yield Finding(
            "hooks",
            "fault",
            f"the host no longer fires {gone.hook}: last seen {gone.last[:10]}, though"
            f" {PROVEN_BY[gone.hook]} was on {gone.proof_last[:10]}",
            _OTHER_HOOKS,
        )
    for hook in hooks.missing:
        yield Finding(
            "hooks",
            "fault",
            f"the host was never seen to fire {hook}, though it fires {PROVEN_BY[hook]}",
            _OTHER_HOOKS,
        )
    if not (hooks.seen or hooks.gone):
        yield Finding(
            "hooks",
            "note",
            "no hook of the host was seen yet",
            "name hermes-telemetry under plugins.enabled in Hermes's config.yaml",
        )
        return
    text = "seen: " + ", ".join(hooks.seen)
    if hooks.not_yet:
        text += "; without an occasion so far: " + ", ".join(hooks.not_yet)
    yield Finding("hooks", "ok", text)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"


_CHECKS: dict[str, Callable[[_Opened], Iterator[Finding]]] = {
    "integrity": _integrity,
    "schema": _schema,
    "speed": _speed,
    "run totals": _run_totals,
    "timestamps": _timestamps,
    "write-ahead log": _log,
    "spill": _spill,
    "dropped": _dropped,
    "hooks": _hooks,
    "calls": _calls,
    "growth": _growth,
    "disk": _disk,
}
