"""Ledgers made by hand: plain rows in, answers of the canned queries out.

Costs in tests are sums of powers of two, so that they add up exactly.
"""

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from hermes_telemetry import reports
from hermes_telemetry.windows import parse_timestamp, timestamp
from support.stopped_clock import StoppedClock

Row = tuple[Any, ...]

NOON = "2026-07-01T12:00:00"
"""The present of every question, in UTC."""


def ask(path: Path, query: str, show: str = "", zone: str = "UTC", **parameters: str) -> list[Row]:
    """The rows of a canned query at `NOON`; ``show`` names the columns wanted, blank means all."""
    with closing(sqlite3.connect(path)) as connection:
        reports.prepare_connection(connection, zone, StoppedClock().clock)
        columns, rows = reports.run(connection, reports.load_queries()[query], parameters)
    places = [columns.index(name) for name in show.split() or columns]
    return [tuple(row[place] for place in places) for row in rows]


class HandMadeLedger:
    """A file at the newest schema whose rows a test writes itself. Times are UTC."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        # A file that a test throws away need not reach the disk.
        self._connection.execute("pragma synchronous = off")

    def close(self) -> None:
        self._connection.close()

    def ask(self, query: str, show: str = "", zone: str = "UTC", **parameters: str) -> list[Row]:
        return ask(self.path, query, show, zone, **parameters)

    def run(self, session: str, started: str = NOON, **columns: Any) -> None:
        self._insert("runs", session_id=session, started_at=stored(started), **columns)

    def call(
        self,
        session: str,
        usd: float | None,
        at: str = NOON,
        turn: str | None = None,
        price: int | None = None,
        **columns: Any,
    ) -> None:
        """A model call; ``price`` is the row of its price record, as `price` gave it."""
        call_id = self._insert(
            "llm_calls",
            session_id=session,
            ts=stored(at),
            cost_usd=usd,
            turn_id=turn,
            **({"model": "m", "provider": "p"} | columns),
        )
        if price is not None:
            self._insert("llm_call_prices", call_id=call_id, price_id=price)

    def daily(self, first: str, last: str, usd: float, **columns: Any) -> None:
        """A call of the session s at nine on each day."""
        day = date.fromisoformat(first)
        while day <= date.fromisoformat(last):
            self.call("s", usd, f"{day}T09:00:00", **columns)
            day += timedelta(days=1)

    def price(self, basis: str, **rates: float) -> int:
        """Rates that calls were charged, in USD per million tokens."""
        return self._insert("prices_used", basis=basis, first_used_at=stored(NOON), **rates)

    def tariff(
        self,
        input: float | None,
        output: float | None,
        since: str,
        model: str = "m",
        provider: str = "p",
        **columns: Any,
    ) -> None:
        """A tariff of the host as it was from a time on, in USD per million tokens."""
        self._insert(
            "pricing_snapshots",
            provider=provider,
            model=model,
            input_cost_per_million=input,
            output_cost_per_million=output,
            captured_at=stored(since),
            **columns,
        )

    def gone(self, model: str, last_seen: str, **columns: Any) -> None:
        """An alert: the provider says that there is no such model."""
        self._insert(
            "model_unavailable_alerts",
            model=model,
            last_seen_at=stored(last_seen),
            **({"provider": "p", "error_code": 404, "first_seen_at": stored(last_seen)} | columns),
        )

    def tool(
        self, session: str, name: str, at: str = NOON, turn: str | None = None, **columns: Any
    ) -> None:
        self._insert(
            "tool_calls",
            session_id=session,
            ts=stored(at),
            tool_name=name,
            turn_id=turn,
            **columns,
        )

    def failure(
        self, session: str, at: str = NOON, turn: str | None = None, **columns: Any
    ) -> None:
        self._insert(
            "llm_call_errors",
            session_id=session,
            ts=stored(at),
            turn_id=turn,
            **({"model": "m", "provider": "p", "status_code": 429} | columns),
        )

    def edge(
        self, child: str, parent: str, turn: str | None = None, at: str = NOON, **columns: Any
    ) -> None:
        """A subagent's start; it is open unless ``stopped_at`` says otherwise."""
        self._insert(
            "subagent_edges",
            child_session_id=child,
            parent_session_id=parent,
            parent_turn_id=turn,
            started_at=stored(at),
            **columns,
        )

    def alert(self, scope: str, level: str, at: str, **columns: Any) -> None:
        """A budget's alert as it fired."""
        self._insert(
            "budget_alerts",
            scope=scope,
            level=level,
            fired_at=stored(at),
            **({"window": "daily", "period_key": at[:10]} | columns),
        )

    def free(self, model: str, provider: str, since: str) -> None:
        self._insert(
            "known_free_models", model=model, provider=provider, first_seen_at=stored(since)
        )

    def flip(self, model: str, provider: str, at: str, usd: float, session: str) -> None:
        self._insert(
            "free_paid_transitions",
            model=model,
            provider=provider,
            detected_at=stored(at),
            first_paid_cost_usd=usd,
            session_id=session,
        )

    def change(self, statement: str, *values: Any) -> None:
        """What somebody else does to the ledger."""
        self._connection.execute(statement, values)

    def _insert(self, table: str, **row: Any) -> int:
        cursor = self._connection.execute(
            f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))})",
            list(row.values()),
        )
        return cursor.lastrowid or 0


def stored(text: str) -> str:
    """The stored form of a time; a time that is whole in text already ('+00:00') stays as it is."""
    return text if text.endswith("+00:00") else timestamp(parse_timestamp(text))
