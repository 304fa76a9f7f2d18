"""Whom a reader means: an owner by the id that the ledger has, or a cron job by its name."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ..cron_jobs import cron_job_ids
from ..store.files import NotALedgerError, open_ledger
from ..store.spend import Owner, has_call_before, has_run
from ..windows import END, bound


def known_owner(conn: sqlite3.Connection, scope: str, given: str) -> Owner:
    """The owner in a scope other than ``global`` that is called ``given``.

    A cron job's id goes before another's name. Raises ValueError, one line for the reader, when
    several jobs have that name or no call of the owner is recorded: a slip of the pen has spent
    nothing.
    """
    ids = (cron_job_ids(given) if scope == "cron_job" else []) or [given]
    if len(ids) > 1:
        raise ValueError(f"{len(ids)} jobs are called {given!r}, give an id: {', '.join(ids)}")
    if not has_call_before(conn, (scope, ids[0]), bound(END)):
        raise ValueError(f"no call of the {scope} {given!r} is recorded")
    return scope, ids[0]


def is_known(path: Path, scope: str, given: str) -> bool:
    """Whether the host has a job of that id or name, or the ledger at ``path`` a run of that owner.

    ``scope`` is none of ``global``. A ledger that cannot be asked says nothing against it.
    """
    if scope == "cron_job" and cron_job_ids(given):
        return True
    try:
        with closing(open_ledger(path)) as conn:
            return has_run(conn, (scope, given))
    except NotALedgerError:
        return path.exists()
    except sqlite3.Error:
        return True
