import sqlite3
from contextlib import closing

import pytest

from hermes_telemetry.store.models import is_free_tier_transition, is_known_free_model
from support.ledger import HandMadeLedger, stored

SPEND = "model provider status spend_since_usd calls_since paid_model"


def test_a_model_that_stayed_free_has_no_flip(ledger: HandMadeLedger) -> None:
    ledger.free("m", "p", "2026-05-01T10:00")
    ledger.call("a", 0.0, model="m", provider="p")
    assert ledger.ask("free_paid_history") == [
        ("m", None, "p", "free", stored("2026-05-01T10:00"), None, None, None, 0, None, 0)
    ]


def test_a_flip_is_told_with_what_the_model_cost_since(ledger: HandMadeLedger) -> None:
    ledger.free("m", "p", "2026-05-01T10:00")
    ledger.flip("m", "p", "2026-06-01T10:00:00.5", 0.25, "a")
    ledger.call("a", 0.0, "2026-05-31T10:00", model="m", provider="p")
    # The call that flipped it, within the same second.
    ledger.call("a", 0.25, "2026-06-01T10:00:00.4", model="m", provider="p")
    ledger.call("b", 1.0, "2026-06-02T10:00", model="m", provider="p")
    ledger.call("b", None, "2026-06-02T10:01", model="m", provider="p")
    ledger.call("b", 64.0, "2026-06-02T10:00", model="m", provider="another")
    ledger.call("b", 64.0, "2026-06-02T10:00", model="another", provider="p")
    assert ledger.ask("free_paid_history") == [
        (
            *("m", 1.25, "p", "flipped", stored("2026-05-01T10:00")),
            *(stored("2026-06-01T10:00:00.5"), 0.25, "a", 3, "m", 1),
        )
    ]


def test_a_dropped_suffix_is_the_same_model(ledger: HandMadeLedger) -> None:
    ledger.free("lab/m:free", "p", "2026-05-01T10:00")
    ledger.flip("lab/m", "p", "2026-06-01T10:00", 0.5, "a")
    ledger.call("a", 0.5, "2026-06-01T10:00", model="lab/m", provider="p")
    assert ledger.ask("free_paid_history", SPEND) == [
        ("lab/m:free", "p", "flipped", 0.5, 1, "lab/m")
    ]


def test_a_suffix_replaced_at_a_token_boundary_is_the_same_model(ledger: HandMadeLedger) -> None:
    for paid in ("m-20260601", "m:paid", "m/v2", "m_v2"):
        ledger.free("m:free", paid, "2026-05-01T10:00")
        ledger.flip(paid, paid, "2026-06-01T10:00", 0.5, "a")
    assert sorted(ledger.ask("free_paid_history", "model paid_model")) == [
        ("m:free", "m-20260601"),
        ("m:free", "m/v2"),
        ("m:free", "m:paid"),
        ("m:free", "m_v2"),
    ]


def test_a_look_alike_is_another_model(ledger: HandMadeLedger) -> None:
    ledger.free("m:free", "p", "2026-05-01T10:00")
    ledger.flip("mini", "p", "2026-06-01T10:00", 0.5, "a")
    assert sorted(ledger.ask("free_paid_history", "model status paid_model")) == [
        ("m:free", "free", None),
        ("mini", "flipped", "mini"),
    ]


@pytest.mark.parametrize(
    ("free", "paid", "explains"),
    [
        (("m", "p"), ("m", "p"), True),
        (("M", "p"), ("m", "p"), True),
        (("m", ""), ("m", "p"), True),
        (("m", "p"), ("m", "q"), False),
        (("m:free", "p"), ("m:free", "p"), True),
        (("m:free", "p"), ("m", "p"), True),
        # It is free everywhere, so it is news of no provider that it is not free there.
        (("m:free", ""), ("m", "p"), False),
        (("m:free", "p"), ("m", "q"), False),
        (("Lab/M:Free", "p"), ("lab/m", "p"), True),
        (("lab/m:free", "p"), ("Lab/M-2", "p"), True),
        (("m:free", "p"), ("m:paid", "p"), True),
        (("m:free", "p"), ("m/v2", "p"), True),
        (("m:free", "p"), ("m_v2", "p"), True),
        (("m:free", "p"), ("mini", "p"), False),
        (("m:free", "p"), ("xm", "p"), False),
        # Another free id is no paid name of this one.
        (("m:free", "p"), ("m-coder:free", "p"), False),
        (("m:free", "p"), ("m-coder:FREE", "p"), False),
        (("m:free:free", "p"), ("m:free", "p"), False),
        ((":free", "p"), ("-m", "p"), False),
    ],
)
def test_a_flip_is_told_of_the_free_id_by_which_it_was_recorded(
    ledger: HandMadeLedger, free: tuple[str, str], paid: tuple[str, str], explains: bool
) -> None:
    ledger.free(*free, "2026-05-01T10:00")
    with closing(sqlite3.connect(ledger.path)) as connection:
        recorded = is_known_free_model(connection, *paid) or is_free_tier_transition(
            connection, *paid
        )
    assert (recorded is not None) == explains
    ledger.flip(*paid, "2026-06-01T10:00", 0.5, "a")
    rows = ledger.ask("free_paid_history", "model provider status paid_model")
    assert ((*free, "flipped", paid[0]) in rows) == explains


def test_a_flip_at_another_provider_leaves_a_model_free(ledger: HandMadeLedger) -> None:
    ledger.free("m", "p", "2026-05-01T10:00")
    ledger.flip("m", "q", "2026-06-01T10:00", 0.5, "a")
    assert sorted(ledger.ask("free_paid_history", "model provider status")) == [
        ("m", "p", "free"),
        ("m", "q", "flipped"),
    ]


def test_a_model_free_at_every_provider_is_one_row_with_its_first_flip(
    ledger: HandMadeLedger,
) -> None:
    ledger.free("m", "", "2026-05-01T10:00")
    ledger.flip("m", "q", "2026-06-02T10:00", 0.5, "b")
    ledger.flip("m", "p", "2026-06-01T10:00", 0.25, "a")
    ledger.call("a", 0.25, "2026-06-01T10:00", model="m", provider="p")
    ledger.call("b", 0.5, "2026-06-02T10:00", model="m", provider="q")
    assert ledger.ask("free_paid_history", f"{SPEND} session_id") == [
        ("m", "", "flipped", 0.75, 2, "m", "a")
    ]


def test_a_flip_belongs_to_the_id_of_its_own_name_first(ledger: HandMadeLedger) -> None:
    ledger.free("m", "p", "2026-05-01T10:00")
    ledger.free("m:free", "p", "2026-05-01T10:00")
    ledger.flip("m", "p", "2026-06-01T10:00", 0.5, "a")
    assert ledger.ask("free_paid_history", "model status") == [("m", "flipped"), ("m:free", "free")]


def test_a_flip_outlives_the_free_model(ledger: HandMadeLedger) -> None:
    ledger.flip("m", "p", "2026-06-01T10:00", 0.5, "a")
    assert ledger.ask("free_paid_history", "model status first_free_seen_at flipped_at") == [
        ("m", "flipped", None, stored("2026-06-01T10:00"))
    ]


def test_an_empty_ledger_knows_no_free_models(ledger: HandMadeLedger) -> None:
    assert ledger.ask("free_paid_history") == []
