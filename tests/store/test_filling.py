"""Filling in the costs of calls that were recorded without a price."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store.filling import Filling, UnpricedCall, fill, unpriced_calls
from hermes_telemetry.store.maintenance import open_writable
from support.ledger import HandMadeLedger, stored
from support.ledger_facts import ask_ledger, faults
from support.stopped_clock import StoppedClock

LISTED = {"basis": "listed", "source": "pricing.yaml", "matched_id": "m", "input": 2.0}
ASSUMED = {"basis": "assumed", "source": "openrouter", "matched_id": "m", "input": 2.0}


def unpriced(path: Path, since: str = "") -> list[list[UnpricedCall]]:
    with closing(sqlite3.connect(path)) as connection:
        return list(unpriced_calls(connection, since))


def fill_in(path: Path, usd: float, price: dict[str, Any], *calls: UnpricedCall) -> int:
    with closing(open_writable(path)) as connection:
        return len(
            fill(connection, [Filling(call, usd, price) for call in calls], StoppedClock().clock)
        )


def test_unpriced_calls_come_with_their_tokens(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5)
    ledger.call(
        *("a", None, "2026-07-01T10:00"),
        tokens_in=1,
        tokens_out=2,
        cache_read_tokens=3,
        cache_write_tokens=4,
        reasoning_tokens=5,
    )
    ledger.call("a", 0.0)
    ledger.call("a", None, provider=None, tokens_in=None, cache_read_tokens=None)
    ledger.call("a", None, model=None)
    ledger.call("a", None, model="")
    ((first, second),) = unpriced(ledger.path)
    assert first == UnpricedCall(2, "a", stored("2026-07-01T10:00"), "m", "p", 1, 2, 3, 4, 5, 0)
    assert (second.id, second.provider, second.tokens_in, second.cache_read_tokens) == (4, "", 0, 0)


def test_unpriced_calls_come_by_the_thousand_from_a_time_on(ledger: HandMadeLedger) -> None:
    for number in range(1500):
        ledger.call("a", None, "2026-07-01T10:00" if number % 2 else "2026-06-30T23:59:59.9")
    assert [len(lot) for lot in unpriced(ledger.path)] == [1000, 500]
    assert [len(lot) for lot in unpriced(ledger.path, "2026-07-01T00:00:00")] == [750]


def test_row_total_and_record_move_together(ledger: HandMadeLedger) -> None:
    ledger.run("a", cost_usd=0.5, api_calls=3)
    ledger.call("a", 0.5)
    ledger.call("a", None)
    ledger.call("a", None)
    ((first, second),) = unpriced(ledger.path)
    assert fill_in(ledger.path, 0.25, LISTED, first, second) == 2
    assert faults(ledger.path) == []
    assert ask_ledger(ledger.path, "select cost_usd from runs") == [(1.0,)]
    assert ask_ledger(ledger.path, "select cost_usd from llm_calls order by id") == [
        (0.5,),
        (0.25,),
        (0.25,),
    ]
    assert ask_ledger(
        ledger.path,
        "select call_id, basis, source, matched_id, input, filled_at"
        " from llm_call_prices join prices_used on prices_used.id = price_id",
    ) == [
        (call_id, "listed", "pricing.yaml", "m", 2.0, stored("2026-07-01T12:00"))
        for call_id in (2, 3)
    ]


def test_a_call_that_got_its_price_meanwhile_keeps_it(ledger: HandMadeLedger) -> None:
    ledger.run("a", api_calls=1)
    ledger.call("a", None)
    ((call,),) = unpriced(ledger.path)
    assert fill_in(ledger.path, 0.25, LISTED, call) == 1
    assert fill_in(ledger.path, 4.0, ASSUMED, call) == 0
    assert ask_ledger(ledger.path, "select cost_usd, provider_assumed from llm_calls") == [
        (0.25, 0)
    ]
    assert ask_ledger(ledger.path, "select cost_usd, provider_assumed_calls from runs") == [
        (0.25, 0)
    ]
    assert ask_ledger(ledger.path, "select basis from prices_used") == [("listed",)]


def test_an_assumed_price_is_counted_as_such(ledger: HandMadeLedger) -> None:
    ledger.run("a", api_calls=2, provider_assumed_calls=1)
    ledger.call("a", None, provider_assumed=1)
    ledger.call("a", None)
    fill_in(ledger.path, 0.25, ASSUMED, *unpriced(ledger.path)[0])
    assert ask_ledger(ledger.path, "select provider_assumed from llm_calls") == [(1,), (1,)]
    assert ask_ledger(ledger.path, "select provider_assumed_calls from runs") == [(2,)]


def test_a_zero_is_a_price(ledger: HandMadeLedger) -> None:
    ledger.run("a", api_calls=1)
    ledger.call("a", None)
    fill_in(ledger.path, 0.0, {"basis": "declared"}, *unpriced(ledger.path)[0])
    assert unpriced(ledger.path) == []
    assert ask_ledger(ledger.path, "select cost_usd from llm_calls") == [(0.0,)]


def test_a_write_that_fails_leaves_all_as_it_was(ledger: HandMadeLedger) -> None:
    ledger.run("a", api_calls=2)
    ledger.call("a", None)
    ledger.call("a", None)
    first, second = unpriced(ledger.path)[0]
    with closing(open_writable(ledger.path)) as connection:
        fillings = [Filling(first, 1.0, LISTED), Filling(second, 1.0, {"basis": None})]
        with pytest.raises(sqlite3.IntegrityError):
            fill(connection, fillings)
    assert unpriced(ledger.path) == [[first, second]]
    assert faults(ledger.path) == []


def test_nothing_to_fill_opens_no_transaction(ledger: HandMadeLedger) -> None:
    with closing(sqlite3.connect(ledger.path)) as other, closing(open_writable(ledger.path)) as own:
        other.execute("begin immediate")
        assert fill(own, []) == []
