"""Several ledgers in one: each input comes in by one transaction, whole or not at all.

An input is copied first (``merged.py``) and attached as ``source``; ``main`` is the merged ledger.
Temporary tables say under which id each row of the input stands there, or will.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ..windows import SYSTEM_CLOCK
from . import extras, merge_alerts, merge_facts, merge_names, migrations
from .locking import Transaction, begin_patiently, is_busy
from .maintenance import open_writable
from .merged import MARKED, copy_up_to_date, ensure_marks, make_temporary, shared_columns
from .shape import ADDITIONS

_ROWS_A_STATEMENT = 20_000

TABLES = tuple(
    table
    for addition in ADDITIONS.values()
    for table in addition.tables
    if not table.endswith("_cache")
)
"""What comes along: all but the caches, which speak of one file."""

# The ids are others in the merged ledger, and a price may be filled in later, on either side.
_NOT_COMPARED = {"id", "session_id", "turn_id", "cost_usd", "provider_assumed"}
# Two prices that were both given at the call make two calls, where no request id tells better.
_SAME_PRICE = """
    and (ours.cost_usd is theirs.cost_usd
      or ours.cost_usd is null
      or theirs.cost_usd is null
      or theirs.api_request_id > ''
      or exists (
        select 1 from main.llm_call_prices where call_id = ours.id and filled_at > ''
      ))
"""


class MergeError(Exception):
    """An input could not be merged; the text names it, in one line."""


@dataclass(frozen=True)
class Merged:
    """What one input has added: rows by table, and the new ids of sessions whose id was taken."""

    path: Path
    added: dict[str, int]
    renamed: dict[str, str]


@dataclass(frozen=True)
class Total:
    """What a ledger holds: calls, those without a price, and USD of the others."""

    calls: int
    unpriced_calls: int
    cost_usd: float


def total(path: Path) -> Total:
    """All that was ever recorded. Raises NotALedgerError or OldLedgerError."""
    # By a connection that may write: the last one that reads only leaves the log and its index.
    with closing(open_writable(path)) as conn:
        return Total(
            *conn.execute(
                "select count(*), count(*) - count(cost_usd), total(cost_usd) from llm_calls"
            ).fetchone()
        )


def merge(
    out: Path,
    inputs: Sequence[Path],
    progress: Callable[[str, int, int], None] = lambda words, done, total: None,
) -> list[Merged]:
    """Bring the rows of ``inputs`` into the ledger ``out``, which is made if there is none.

    Rows that came in before are left out. ``progress`` is told in words what is under way, and how
    many rows of how many are done (0 of 0: not known). An input that fails leaves what came before
    it, and no new ledger where nothing did. Raises NotALedgerError, OldLedgerError, MergeError,
    OSError or sqlite3.Error.
    """
    is_new = not out.exists()
    results: list[Merged] = []
    try:
        if is_new:
            _make(out)
        _merge_all(out, inputs, results, progress)
    except BaseException:
        if is_new and not results and out.exists():
            _remove_empty(out)
        raise
    return results


def _merge_all(
    out: Path,
    inputs: Sequence[Path],
    results: list[Merged],
    progress: Callable[[str, int, int], None],
) -> None:
    """Adds to ``results`` what each input has added, as it comes in."""
    begin = begin_patiently(SYSTEM_CLOCK)
    with closing(open_writable(out)) as conn:
        for path in inputs:
            # Beside the result: where that has room, its like has, too.
            with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
                copy = Path(folder).resolve() / "input.db"
                progress(f"reading {path}", 0, 0)
                try:
                    copy_up_to_date(path, copy)
                    with _attached(conn, copy), Transaction(conn, begin):
                        results.append(_merge(conn, path, progress))
                except sqlite3.DatabaseError as error:
                    if is_busy(error):  # the result is in use, whatever the input is
                        raise
                    raise MergeError(f"{path} could not be merged: {error}") from error
        progress("indexes and views", 0, 0)
        extras.ensure_speed(conn, begin)


@contextmanager
def _attached(conn: sqlite3.Connection, copy: Path) -> Iterator[None]:
    # As bytes: the name of a folder may be no UTF-8.
    conn.execute("attach cast(? as text) as source", (os.fsencode(copy),))
    try:
        yield
    finally:
        conn.execute("detach source")


def _make(out: Path) -> None:
    """An empty ledger; its speed indexes come last, when there are rows."""
    with closing(sqlite3.connect(out, timeout=30, isolation_level=None)) as conn:
        conn.execute("pragma journal_mode = wal")
        migrations._ensure_schema(conn)
        extras.ensure_price_record(conn)


def _remove_empty(out: Path) -> None:
    with closing(sqlite3.connect(out, timeout=30)) as conn:
        # Another merge into the same new file may have come further.
        tables = extras.names(conn)
        if any(
            conn.execute(f"select exists (select 1 from {table})").fetchone()[0]
            for table in TABLES
            if table in tables
        ):
            return
    for name in (out.name, f"{out.name}-wal", f"{out.name}-shm"):
        out.with_name(name).unlink(missing_ok=True)


def _merge(
    conn: sqlite3.Connection, path: Path, progress: Callable[[str, int, int], None]
) -> Merged:
    ensure_marks(conn)
    before = _counts(conn)
    _number_ledgers(conn)
    for table in MARKED:
        _find_places(conn, table)
    renamed = merge_names.name_sessions(conn)
    merge_names.name_turns(conn)
    merge_facts.take_prices(conn)
    total = sum(
        conn.execute(f"select count(*) from temp.places_{table} where not known").fetchone()[0]
        for table in MARKED
    )
    done = 0
    for table in MARKED:
        for step in _bring_in(conn, table):
            done += step
            progress(f"merging {path}", done, total)
    merge_facts.price_calls(conn)
    merge_facts.merge_runs(conn)
    merge_facts.merge_edges(conn)
    merge_alerts.merge_models(conn)
    merge_alerts.merge_alerts(conn)
    return Merged(
        path, {table: count - before[table] for table, count in _counts(conn).items()}, renamed
    )


def _counts(conn: sqlite3.Connection) -> dict[str, int]:
    return {
        table: conn.execute(f"select count(*) from main.{table}").fetchone()[0] for table in TABLES
    }


def _number_ledgers(conn: sqlite3.Connection) -> None:
    """The number in ``main`` of each ledger that the input consists of: itself (0 there), and those
    that were merged into it.
    """
    make_temporary(conn, "origins", "origin integer primary key, ledger integer not null")
    origins = conn.execute(
        "select distinct ledger from source.merged_ledgers order by ledger"
    ).fetchall()
    for (origin,) in origins:
        known = conn.execute(
            """
            select ours.ledger
            from source.merged_ledgers as theirs
            join main.merged_ledgers as ours using (version, applied_at)
            where theirs.ledger = ?
            group by ours.ledger
            order by count(*) desc, ours.ledger
            limit 1
            """,
            (origin,),
        ).fetchone()
        ledger = (
            known or conn.execute("select max(ledger) + 1 from main.merged_ledgers").fetchone()
        )[0]
        conn.execute("insert into temp.origins values (?, ?)", (origin, ledger))
        conn.execute(
            """
            insert or ignore into main.merged_ledgers
            select ?, version, applied_at from source.merged_ledgers where ledger = ?
            """,
            (ledger, origin),
        )


def _find_places(conn: sqlite3.Connection, table: str) -> None:
    """``temp.places_TABLE``: for each row (``at``) of the input the id in ``main``, and whether it
    is ``known``, that is, stands there already.
    """
    make_temporary(
        conn,
        f"places_{table}",
        """
        at integer primary key,
        ledger integer not null,
        source_id integer not null,
        id integer,
        known integer not null default 0
        """,
    )
    conn.execute(
        f"""
        insert into temp.places_{table} (at, ledger, source_id)
        select theirs.id, origin.ledger, coalesce(mark.source_id, theirs.id)
        from source.{table} as theirs
        left join source.merged_{table} as mark on mark.id = theirs.id
        join temp.origins as origin on origin.origin = coalesce(mark.ledger, 0)
        """
    )
    same = _same(conn, table)
    conn.execute(
        f"""
        update temp.places_{table} as place
        set id = found.id,
            known = 1
        from (
          select place.at, min(ours.id) as id
          from temp.places_{table} as place
          cross join main.merged_{table} as mark
            on mark.source_id = place.source_id
           and mark.ledger = place.ledger
          cross join main.{table} as ours on ours.id = mark.id
          cross join source.{table} as theirs on theirs.id = place.at
          where {same}
          group by place.at
          union all
          -- A copy of the merged file itself: its own rows bear no mark.
          select place.at, ours.id
          from temp.places_{table} as place
          cross join main.{table} as ours on ours.id = place.source_id
          cross join source.{table} as theirs on theirs.id = place.at
          where place.ledger = 0
            and not exists (select 1 from main.merged_{table} where id = ours.id)
            and {same}
        ) as found
        where found.at = place.at
        """
    )
    # Never an id that a deleted row had: whoever follows the rows has seen it.
    (last,) = conn.execute(
        f"""
        select max(
          coalesce((select max(id) from main.{table}), 0),
          coalesce((select seq from main.sqlite_sequence where name = '{table}'), 0)
        )
        """
    ).fetchone()
    conn.execute(
        f"""
        update temp.places_{table} as place
        set id = ? + numbered.number
        from (
          select at, row_number() over (order by at) as number
          from temp.places_{table}
          where not known
        ) as numbered
        where numbered.at = place.at
        """,
        (last,),
    )
    conn.execute(f"create index temp.idx_places_{table} on places_{table} (id)")


def _same(conn: sqlite3.Connection, table: str) -> str:
    columns = shared_columns(conn, table)
    same = " and ".join(
        f"ours.{column} is theirs.{column}" for column in columns if column not in _NOT_COMPARED
    )
    if "session_id" in columns:
        same += f" and {merge_names.original('main', 'ours')} = "
        same += merge_names.original("source", "theirs")
    return same + (_SAME_PRICE if table == "llm_calls" else "")


def _bring_in(conn: sqlite3.Connection, table: str) -> Iterator[int]:
    """Write the rows that are not there yet, some thousand at a time; yields how many."""
    columns = [column for column in shared_columns(conn, table) if column != "id"]
    written = {
        "session_id": "session.merged_as",
        "turn_id": "coalesce(turn.merged_as, theirs.turn_id)",
    }
    joins = ""
    if "session_id" in columns:
        joins = """
            join temp.sessions as session on session.session_id = theirs.session_id
            left join temp.turns as turn on turn.turn_id = theirs.turn_id
        """
    # Ids are given out in the order of the input's.
    first, last = conn.execute(
        f"select min(id), max(id) from temp.places_{table} where not known"
    ).fetchone()
    for start in range(first or 0, (last or -1) + 1, _ROWS_A_STATEMENT):
        some = (start, min(start + _ROWS_A_STATEMENT, last + 1))
        yield conn.execute(
            f"""
            insert into main.{table} (id, {", ".join(columns)})
            select
              place.id,
              {", ".join(written.get(column, f"theirs.{column}") for column in columns)}
            from temp.places_{table} as place
            cross join source.{table} as theirs on theirs.id = place.at
            {joins}
            where not place.known
              and place.id >= ?
              and place.id < ?
            order by place.id
            """,
            some,
        ).rowcount
    conn.execute(
        f"""
        insert into main.merged_{table} (id, ledger, source_id)
        select id, ledger, source_id
        from temp.places_{table}
        where not known
        order by id
        """
    )
