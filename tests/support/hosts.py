"""Machines that each have a ledger of their own, and what a merged ledger holds."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hermes_telemetry.store import migrations
from support.ledger import HandMadeLedger

NIGHTLY = "cron_0123456789ab_20260701_030000"
"""What the host calls a run of this job at this second, on whichever machine."""


def new_host(path: Path) -> HandMadeLedger:
    """A machine whose ledger begins empty, at the newest schema."""
    migrations.migrate(path)
    return HandMadeLedger(path)


def nightly_run(host: HandMadeLedger, *costs: float | None, at: str = "2026-07-01T03:00") -> None:
    """The job's run of 1 July, with a call for each cost, a second apart; its totals are right."""
    host.run(
        NIGHTLY,
        f"{at}:00",
        cron_job_id="0123456789ab",
        platform="cron",
        api_calls=len(costs),
        tokens_in=10 * len(costs),
        cost_usd=sum(cost or 0 for cost in costs),
    )
    for second, cost in enumerate(costs, 1):
        host.call(NIGHTLY, cost, f"{at}:{second:02}", tokens_in=10)


def rows(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, values).fetchall()


def dump(path: Path) -> list[str]:
    """The whole file as SQL: two that are the same hold the same."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@contextmanager
def changed_by_hand(path: Path) -> Iterator[Callable[[str], object]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection.execute
