"""40 + min(60, out/max(in, 1) * 40) - (30 error, 10 interrupted) - min(30, 1.5 * calls)."""

from typing import Any

import pytest

from support.ledger import HandMadeLedger


@pytest.mark.parametrize(
    ("columns", "score"),
    [
        ({}, 40.0),
        # Output against input: a quarter is 10 more, equal 40, one and a half 60, never over 60.
        ({"tokens_in": 400, "tokens_out": 100}, 50.0),
        ({"tokens_in": 100, "tokens_out": 100}, 80.0),
        ({"tokens_in": 100, "tokens_out": 149}, 99.6),
        ({"tokens_in": 100, "tokens_out": 150}, 100.0),
        ({"tokens_in": 100, "tokens_out": 151}, 100.0),
        # No input is taken as one token.
        ({"tokens_in": 0, "tokens_out": 1}, 80.0),
        ({"tokens_in": None, "tokens_out": None, "api_calls": None}, 40.0),
        # What was read from a cache or written to it is no fresh input.
        ({"tokens_in": 100, "tokens_out": 100, "cache_read_tokens": 900}, 80.0),
        ({"tokens_in": 100, "tokens_out": 100, "cache_write_tokens": 900}, 80.0),
        # One and a half a call, 30 at the twentieth, never more.
        ({"api_calls": 1}, 38.5),
        ({"api_calls": 19}, 11.5),
        ({"api_calls": 20}, 10.0),
        ({"api_calls": 21}, 10.0),
        ({"status": "interrupted"}, 30.0),
        ({"status": "error"}, 10.0),
        # 40 - 30 - 1.5 * 6 = 1; with a seventh call it would be below 0.
        ({"status": "error", "api_calls": 6}, 1.0),
        ({"status": "error", "api_calls": 7}, 0.0),
        # 40 + 60 - 10 - 3.
        ({"status": "interrupted", "tokens_in": 2, "tokens_out": 9, "api_calls": 2}, 87.0),
    ],
)
def test_the_score_of_a_session(
    columns: dict[str, Any], score: float, ledger: HandMadeLedger
) -> None:
    ledger.run("a", **({"status": "ok"} | columns))
    assert ledger.ask("efficiency", "score") == [(pytest.approx(score),)]


def test_only_finished_sessions_of_the_window_the_newest_first(ledger: HandMadeLedger) -> None:
    ledger.run("older", "2026-06-29T10:00", status="ok", profile="work")
    ledger.run("newer", "2026-06-30T10:00", status="error", profile="home")
    ledger.run("going on", "2026-06-30T11:00")
    ledger.run("long ago", "2026-01-01", status="ok")
    assert ledger.ask("efficiency", "session_id") == [("newer",), ("older",)]
    assert ledger.ask("efficiency", "session_id", profile="work") == [("older",)]
    assert ledger.ask("efficiency", "session_id", since="2026-06-30") == [("newer",)]


def test_a_row_says_what_the_score_was_made_of(ledger: HandMadeLedger) -> None:
    ledger.run(
        *("a", "2026-06-30T10:00"),
        status="ok",
        tokens_in=400,
        tokens_out=100,
        api_calls=2,
        platform="cli",
        model="m",
        provider="p",
    )
    # 40 + 10 - 3
    assert [row[1:] for row in ledger.ask("efficiency")] == [
        (47.0, "a", "ok", 400, 100, 2, "cli", "m", "p")
    ]
