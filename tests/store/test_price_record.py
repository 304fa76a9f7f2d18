"""The price record: each set of rates once, and every priced call names its own."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.store.writes import Write
from support.ledger_facts import ask_ledger
from support.schema import PRICE_RECORD, price_record

NOON = "2026-07-01T12:00:00.000000+00:00"

LISTED = {"basis": "listed", "input": 3.0, "output": 15.0}

NAMED = """
    select call_id, input
    from llm_call_prices
    left join prices_used on prices_used.id = price_id
    order by call_id
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    yield ledger
    ledger.close()


def call(price: dict[str, Any], session_id: str = "s") -> Write:
    counts = ("tokens_in", "tokens_out", "cache_read_tokens", "cache_write_tokens")
    fields: dict[str, Any] = dict.fromkeys((*counts, "reasoning_tokens"), 1)
    return Write(
        "record_llm_call",
        fields
        | {"session_id": session_id, "ts": NOON, "model": "m", "provider": "p", "cost_usd": 1.0}
        | {"latency_ms": 1, "price": price},
    )


def poison() -> Write:
    """A row that no ledger takes: it belongs to nobody."""
    return Write(
        "record_tool_call",
        {"session_id": None, "ts": NOON, "tool_name": "t", "ok": 1, "latency_ms": 1},
    )


def test_its_tables_have_their_shape(path: Path) -> None:
    migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        assert price_record(connection) == PRICE_RECORD


@pytest.mark.parametrize(
    "other",
    [
        {"basis": "builtin"},
        {"source": "pricing.yaml"},
        {"matched_id": "m"},
        {"input": 4.0},
        {"output": None},
        {"cache_read": 0.3},
        {"cache_write": 3.75},
        {"reasoning": 15.0},
        {"request": 0.01},
        {"tier_from": 200_000},
    ],
    ids=lambda other: next(iter(other)),
)
def test_rates_that_differ_in_anything_are_two_rows_and_the_same_ones_cannot_be(
    other: dict[str, Any], ledger: Ledger, path: Path
) -> None:
    ledger.apply([call(LISTED), call(LISTED | other), call(LISTED), call(LISTED | other)])

    assert ask_ledger(path, "select price_id from llm_call_prices") == [(1,), (2,), (1,), (2,)]
    again = """
        insert into prices_used
          (basis, source, matched_id, input, output, cache_read, cache_write, reasoning, request,
           tier_from, first_used_at)
        select basis, source, matched_id, input, output, cache_read, cache_write, reasoning,
          request, tier_from, 'another time'
        from prices_used
        where id = ?
    """
    for price in (1, 2):
        with pytest.raises(sqlite3.IntegrityError):
            ask_ledger(path, again, price)


def test_rates_whose_transaction_failed_are_written_by_the_next(ledger: Ledger, path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        ledger.apply([call(LISTED), poison()])

    ledger.apply([call(LISTED)])

    assert ask_ledger(path, NAMED) == [(1, 3.0)]


def test_rates_of_a_spilled_record_that_is_set_aside_are_written_by_the_next(
    ledger: Ledger, path: Path
) -> None:
    ledger.spill.keep([call(LISTED), poison()])
    ledger.spill.keep([call(LISTED)])

    ledger.apply([call(LISTED)])

    assert ask_ledger(path, NAMED) == [(1, 3.0), (2, 3.0)]
