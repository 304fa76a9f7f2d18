"""budget.yaml as the pages see it, and where its limits stand, read once for all that ask."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from hermes_telemetry.budget.answers import Outlook, outlooks
from hermes_telemetry.budget.config import Budget, BudgetFile
from hermes_telemetry.paths import budget_path

from .frame import Page, RefusedError

if TYPE_CHECKING:
    from datasette.app import Datasette

_FILES: WeakKeyDictionary[Datasette, dict[str, BudgetFile]] = WeakKeyDictionary()
_Read = TypeVar("_Read")


def budget_file(page: Page) -> BudgetFile:
    """The file by which this ledger is judged; kept, for a faulty one leaves the last good one."""
    # One that is put beside the ledger is used from then on.
    path = budget_path(Path(page.ledger.path) if page.ledger.path else None)
    files = _FILES.setdefault(page.datasette, {})
    kept = files.get(page.database)
    if kept is None or kept.path != path:
        kept = files[page.database] = BudgetFile(path)
    return kept


async def all_outlooks(page: Page) -> list[Outlook]:
    """The outlook of everyone, and of each who has a limit; RefusedError 409 as `spend_figures`."""
    return await spend_figures(
        page, "outlooks", lambda conn, budget: outlooks(conn, budget, page.zone, page.now)
    )


async def spend_figures(
    page: Page, name: Hashable, compute: Callable[[sqlite3.Connection, Budget], _Read]
) -> _Read:
    """As `Page.figures`, of what depends on the budget in force; RefusedError 409 for an older
    ledger.
    """
    file = budget_file(page)
    # Asked for once: what is computed with one budget must not be kept as that of the next.
    budget = file.current()
    key = (name, repr(budget), file.error, str(file.path))
    try:
        return await page.figures(key, lambda conn: compute(conn, budget))
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such"):
            raise
        raise RefusedError(409, page.ledger.note or f"this file is older ({error})") from error


def verdict_word(outlook: Outlook) -> str:
    """The verdict as a reader meets it beside its colour."""
    if outlook.verdict.degraded:
        return "over, estimated"
    return outlook.verdict.level or "no limit"
