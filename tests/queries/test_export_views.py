"""The views, which Datasette exports in full."""

import sqlite3
from contextlib import closing

from support.ledger import HandMadeLedger, Row, stored


def view(ledger: HandMadeLedger, columns: str, name: str) -> list[Row]:
    with closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute(f"select {columns} from {name} order by started_at").fetchall()


def test_a_turn_is_one_row_of_the_session_that_began_it(ledger: HandMadeLedger) -> None:
    ledger.call("b", 4.0, "2026-06-30T10:01", "t")
    ledger.call("a", 2.0, "2026-06-30T10:00", "t")
    ledger.call("a", None, "2026-06-30T10:02", "t")
    ledger.call("a", 8.0, "2026-06-30T11:00", "u")
    for nothing in (None, ""):
        ledger.call("a", 1.0, "2026-06-30T12:00", nothing)
    columns = "turn_id, session_id, started_at, cost_usd, calls, unpriced_calls"
    assert view(ledger, columns, "turn_costs") == [
        ("t", "a", stored("2026-06-30T10:00"), 6.0, 3, 1),
        ("u", "a", stored("2026-06-30T11:00"), 8.0, 1, 0),
    ]


def test_every_turn_is_what_cost_per_turn_says_of_it(ledger: HandMadeLedger) -> None:
    for number, usd in enumerate((0.5, 0.25, None, 1.0)):
        ledger.call(f"s{number % 2}", usd, f"2026-06-30T1{number}:00", f"t{number // 2}")
    columns = "turn_id session_id started_at cost_usd calls unpriced_calls"
    assert view(ledger, columns.replace(" ", ", "), "turn_costs") == [
        *reversed(ledger.ask("cost_per_turn", columns))
    ]


def test_a_session_is_one_row_with_its_first_and_last_call(ledger: HandMadeLedger) -> None:
    ledger.call("a", 2.0, "2026-06-30T10:01", tokens_in=7, latency_ms=30)
    ledger.call("a", None, "2026-06-30T10:00", tokens_in=2, latency_ms=None)
    ledger.call("b", None, "2026-06-30T11:00")
    columns = (
        "session_id, started_at, last_call_at, cost_usd, calls, unpriced_calls, tokens_in, model_ms"
    )
    assert view(ledger, columns, "session_costs") == [
        ("a", stored("2026-06-30T10:00"), stored("2026-06-30T10:01"), 2.0, 2, 1, 9, 30),
        ("b", stored("2026-06-30T11:00"), stored("2026-06-30T11:00"), None, 1, 1, 0, None),
    ]


def test_days_of_models_are_those_of_utc(ledger: HandMadeLedger) -> None:
    ledger.call("a", 2.0, "2026-06-29T23:59:59.999999+00:00")
    ledger.call("b", 1.0, "2026-06-30T00:00:00+00:00")
    ledger.call("a", None, "2026-06-30T23:59")
    ledger.call("a", 0.5, "2026-06-30T10:00", model="n", provider=None)
    with closing(sqlite3.connect(ledger.path)) as connection:
        days = connection.execute(
            "select day_utc, model, provider, cost_usd, calls, unpriced_calls from daily_costs_utc"
            " order by day_utc, model"
        ).fetchall()
    assert days == [
        ("2026-06-29", "m", "p", 2.0, 1, 0),
        ("2026-06-30", "m", "p", 1.0, 2, 1),
        ("2026-06-30", "n", None, 0.5, 1, 0),
    ]
