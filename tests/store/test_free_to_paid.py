"""Which known free model a paid call ends, and that it ends it once."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.store.connection import LedgerConnection
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.store.models import (
    is_free_tier_transition,
    is_known_free_model,
    note_paid_call,
    record_free_model,
)

PAID_AT = "2026-08-01T12:00:00.000000+00:00"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "telemetry.db"
    migrate(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for model, provider, since in [
            ("gift", "nous", "t1"),
            ("anywhere", "", "t2"),
            ("b/promo:free", "nous", "t3"),
            (":free", "nous", "t4"),
            ("c/promo:free", "", "t5"),
        ]:
            record_free_model(connection, model=model, provider=provider, ts=since)
        yield connection


@pytest.fixture
def recorders(ledger: sqlite3.Connection, tmp_path: Path) -> Iterator[LedgerConnection]:
    """A recorder's own connection, which remembers what it has looked up."""
    path = tmp_path / "telemetry.db"
    with closing(
        sqlite3.connect(path, isolation_level=None, factory=LedgerConnection)
    ) as connection:
        yield connection


def pay(ledger: sqlite3.Connection, model: str, provider: str = "nous") -> str | None:
    return note_paid_call(
        ledger, model=model, provider=provider, session_id="s", cost_usd=0.25, ts=PAID_AT
    )


@pytest.mark.parametrize(
    ("model", "provider", "same_id", "renamed"),
    [
        ("a/m", "nous", None, None),
        ("gift", "nous", "t1", None),
        ("GIFT", "nous", "t1", None),
        ("gift", "Nous", "t1", None),
        ("gift", "other", None, None),
        ("anywhere", "nous", "t2", None),
        ("anywhere", "", "t2", None),
        ("b/promo", "nous", None, "t3"),
        ("B/Promo", "nous", None, "t3"),
        ("b/promo-550b", "nous", None, "t3"),
        ("b/promo:paid", "nous", None, "t3"),
        ("b/promo/v2", "nous", None, "t3"),
        ("b/promo_x", "nous", None, "t3"),
        ("b/promotion", "nous", None, None),
        ("b/prom", "nous", None, None),
        ("xb/promo", "nous", None, None),
        ("b/promo", "other", None, None),
        ("c/promo", "nous", None, None),
        ("c/promo", "", None, None),
        ("b/promo-2:free", "nous", None, None),
    ],
)
def test_a_paid_call_ends_the_free_time_of_its_own_model_only(
    ledger: sqlite3.Connection,
    model: str,
    provider: str,
    same_id: str | None,
    renamed: str | None,
) -> None:
    assert is_known_free_model(ledger, model, provider) == same_id
    assert is_free_tier_transition(ledger, model, provider) == renamed

    fired = pay(ledger, model, provider)

    since = same_id or renamed
    assert fired == (None if since is None else "free")
    flips = ledger.execute("select * from free_paid_transitions").fetchall()
    assert flips == ([] if since is None else [(model, provider, PAID_AT, "s", 0.25, since)])


def test_the_same_id_explains_before_a_renamed_one(ledger: sqlite3.Connection) -> None:
    record_free_model(ledger, model="b/promo", provider="", ts="t5")
    pay(ledger, "b/promo")
    assert ledger.execute("select first_free_seen_at from free_paid_transitions").fetchone() == (
        "t5",
    )


def test_only_the_first_paid_call_fires(ledger: sqlite3.Connection) -> None:
    assert [pay(ledger, "gift") for _ in range(3)] == ["free", None, None]
    assert [pay(ledger, "GIFT"), pay(ledger, "gift", "Nous")] == [None, None]


def test_a_model_that_another_process_finds_free_meanwhile_is_free(
    ledger: sqlite3.Connection, recorders: LedgerConnection
) -> None:
    assert [pay(recorders, model) for model in ("late", "b/late-2")] == [None, None]

    record_free_model(ledger, model="late", provider="nous", ts="t6")
    record_free_model(ledger, model="b/late:free", provider="nous", ts="t7")
    assert [pay(recorders, model) for model in ("late", "b/late-2")] == ["free", "free"]


def test_what_an_undone_transaction_looked_up_counts_for_nothing(
    ledger: sqlite3.Connection, recorders: LedgerConnection
) -> None:
    recorders.execute("begin")
    record_free_model(recorders, model="undone", provider="nous", ts="t6")
    assert pay(recorders, "late") is None
    recorders.rollback()

    # The row takes the place, and the id, of the one that was undone.
    record_free_model(ledger, model="late", provider="nous", ts="t6")
    assert pay(recorders, "late") == "free"


@pytest.mark.parametrize(
    ("day", "cost", "assumed", "fired"),
    [
        ("2026-06-30", 0.25, 0, None),
        # Free, or by another source's price: nobody was charged.
        ("2026-06-30", 0.0, 0, "free"),
        ("2026-06-30", 0.25, 1, "free"),
        # Paid after it was free: that is the flip itself, perhaps recorded late.
        ("2026-07-02", 0.25, 0, "free"),
    ],
)
def test_what_cost_something_before_it_was_free_is_no_news(
    ledger: sqlite3.Connection, day: str, cost: float, assumed: int, fired: str | None
) -> None:
    since = "2026-07-01T12:00:00.000000+00:00"
    record_free_model(ledger, model="lab/m:free", provider="nous", ts=since)
    ledger.execute(
        "insert into llm_calls (session_id, ts, model, provider, cost_usd, provider_assumed)"
        " values ('s', ?, 'Lab/m', 'nous', ?, ?)",
        (f"{day}T12:00:00.000000+00:00", cost, assumed),
    )
    assert pay(ledger, "lab/m") == fired


@pytest.mark.parametrize(
    ("bases", "fired"),
    [(["free", "declared"], "declared"), (["declared", "free"], "free"), ([], "free")],
)
def test_it_is_the_newest_call_at_no_cost_that_says_why_it_was_free(
    ledger: sqlite3.Connection, bases: list[str], fired: str
) -> None:
    for day, basis in enumerate(bases, start=1):
        call = ledger.execute(
            "insert into llm_calls (session_id, ts, model, provider, cost_usd)"
            " values ('s', ?, 'gift', 'nous', 0)",
            (f"2026-07-0{day}T12:00:00.000000+00:00",),
        ).lastrowid
        price = ledger.execute(
            "insert into prices_used (basis, first_used_at) values (?, 't')", (basis,)
        ).lastrowid
        ledger.execute(
            "insert into llm_call_prices (call_id, price_id) values (?, ?)", (call, price)
        )
    assert pay(ledger, "gift") == fired
