import sqlite3
from contextlib import closing

import pytest

from hermes_telemetry import reports
from support.ledger import HandMadeLedger, Row, stored
from support.stopped_clock import StoppedClock


def grown(ledger: HandMadeLedger, zone: str = "UTC", **parameters: str) -> list[Row]:
    """The months in which something came in."""
    rows = ledger.ask("ledger_growth", "month rows table_name", zone, **parameters)
    return [row for row in rows if row[1]]


def test_rows_by_month_and_the_oldest_of_the_table(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5, "2025-12-24T10:00")
    ledger.call("a", 0.5, "2026-06-30T23:59")
    ledger.call("a", None, "2026-07-01T00:00")
    ledger.call("a", 0.5, "2026-07-01T10:00")
    ledger.tool("a", "delegate_task/subagent", "2026-07-01T10:00")
    calls, tools = stored("2025-12-24T10:00"), stored("2026-07-01T10:00")
    assert ledger.ask("ledger_growth", months="2") == [
        ("2026-07", 2, "llm_calls", calls),
        ("2026-07", 1, "tool_calls", tools),
        ("2026-06", 1, "llm_calls", calls),
        ("2026-06", 0, "tool_calls", tools),
    ]


def test_six_months_unless_others_are_asked_for(ledger: HandMadeLedger) -> None:
    for month in ("2025-12", "2026-01", "2026-02"):
        ledger.run(month, f"{month}-15")
    assert grown(ledger) == [("2026-02", 1, "runs")]
    assert grown(ledger, months="7") == [("2026-02", 1, "runs"), ("2026-01", 1, "runs")]
    assert len(grown(ledger, months="999999")) == 3


@pytest.mark.parametrize(
    ("zone", "months"),
    [
        # It is half past ten in the evening of 30 June, UTC.
        ("UTC", [("2026-06", 1, "runs")]),
        ("Europe/Madrid", [("2026-07", 1, "runs")]),
        ("Pacific/Kiritimati", [("2026-07", 1, "runs")]),
        ("Pacific/Pago_Pago", [("2026-06", 1, "runs")]),
    ],
)
def test_months_are_local(zone: str, months: list[Row], ledger: HandMadeLedger) -> None:
    ledger.run("a", "2026-06-30T22:30")
    assert grown(ledger, zone) == months


@pytest.mark.parametrize(
    ("zone", "month"),
    # At noon of 31 July, UTC: the first minutes of August in Auckland, two hours in Kiritimati.
    [("UTC", "2026-07"), ("Pacific/Auckland", "2026-08"), ("Pacific/Kiritimati", "2026-08")],
)
def test_this_month_is_the_local_one(zone: str, month: str, ledger: HandMadeLedger) -> None:
    ledger.run("a")
    time = StoppedClock()
    time.advance(30 * 86_400)
    with closing(sqlite3.connect(ledger.path)) as connection:
        reports.prepare_connection(connection, zone, time.clock)
        _, rows = reports.run(connection, reports.load_queries()["ledger_growth"], {"months": "1"})
    assert [row[0] for row in rows] == [month]


def test_every_table_that_has_a_row(ledger: HandMadeLedger) -> None:
    for name, at in (("young", "2026-07-01"), ("old", "2026-06-01")):
        ledger.run(name, at)
        ledger.call(name, 0.5, at)
        ledger.tool(name, "terminal", at)
        ledger.failure(name, at)
        ledger.edge(name, "parent", at=at)
        ledger.tariff(1.0, 2.0, at)
        ledger.alert("global", name, at)
        ledger.free(name, "p", at)
        ledger.flip(name, "p", at, 1.0, name)
        ledger.gone(name, at)
    rows = ledger.ask("ledger_growth", "table_name rows oldest_at", months="1")
    assert sorted(rows) == [
        (table, 1, stored("2026-06-01"))
        for table in (
            "budget_alerts",
            "free_paid_transitions",
            "known_free_models",
            "llm_call_errors",
            "llm_calls",
            "model_unavailable_alerts",
            "pricing_snapshots",
            "runs",
            "subagent_edges",
            "tool_calls",
        )
    ]
