"""Which ``pricing.yaml`` the commands about prices read and write: that beside the ledger they are
given, if there is one, else the telemetry home's. It is the rule of ``budget.yaml``.
"""

import json
from pathlib import Path

import pytest

from support.ledger import HandMadeLedger

HOMES = "models: {m: {input: 1, output: 1}}"
BESIDE = "models: {m: {input: 4, output: 4}}"


@pytest.fixture
def beside(prices: Path, book: HandMadeLedger) -> Path:
    """A price list beside the ledger, and another one in the telemetry home."""
    prices.write_text(HOMES)
    path = book.path.with_name("pricing.yaml")
    path.write_text(BESIDE)
    return path


def test_a_price_is_shown_from_the_file_beside_the_ledger(
    cli, beside: Path, book: HandMadeLedger
) -> None:
    shown = json.loads(cli("pricing", "show", "m", "--json", "--db", book.path).out)
    assert (shown["basis"], shown["input"]) == ("listed", 4.0)
    assert json.loads(cli("pricing", "show", "m", "--json").out)["input"] == 1.0


def test_without_one_beside_the_ledger_the_homes_counts(
    cli, beside: Path, book: HandMadeLedger
) -> None:
    beside.unlink()
    shown = json.loads(cli("pricing", "show", "m", "--json", "--db", book.path).out)
    assert shown["input"] == 1.0


def test_advice_names_the_file_that_is_read(cli, beside: Path, book: HandMadeLedger) -> None:
    assert f" to the models of {beside}:" in cli("pricing", "show", "x", "--db", book.path).out


def test_calls_are_filled_from_the_file_beside_the_ledger(
    cli, beside: Path, book: HandMadeLedger
) -> None:
    book.call("s", None, tokens_in=1_000_000)
    cli("pricing", "fill", "--apply", "--db", book.path)
    # A million tokens at 4 USD, not at the home's 1 USD.
    assert book.ask("cost_by_model", "cost_usd", since="all") == [(4.0,)]


def test_an_audit_charges_by_the_file_beside_the_ledger(
    cli, beside: Path, book: HandMadeLedger
) -> None:
    book.call("s", 4.0, tokens_in=1_000_000)
    (model,) = json.loads(cli("pricing", "audit", "--json", "--db", book.path).out)["models"]
    assert [(step["step"], step["usd"]) for step in model["steps"]] == [(1, 4.0)]


def test_drift_compares_with_the_file_beside_the_ledger_and_corrects_it(
    cli, beside: Path, prices: Path, book: HandMadeLedger
) -> None:
    book.tariff(2.0, 2.0, "2026-06-01")
    compared = json.loads(cli("pricing", "drift", "--json", "--db", book.path).out)
    assert [(pair["local_input"], pair["verdict"]) for pair in compared["pairs"]] == [
        (4.0, "drift")
    ]
    assert cli("pricing", "drift", "--apply", "--db", book.path).code == 0
    assert "input: 2" in beside.read_text()
    assert prices.read_text() == HOMES


def test_the_doctor_looks_at_the_file_beside_the_ledger(
    cli, beside: Path, book: HandMadeLedger
) -> None:
    beside.write_text("models: {a: {input: 1, output: 1}, b: {input: -1, output: 1}}")
    answer = cli("doctor", "--db", book.path)
    assert "the entry of 'b' is ignored: input is negative" in answer.out
    assert f": correct {beside}" in answer.out


def test_a_malformed_file_beside_the_ledger_is_one_line(
    refused, beside: Path, book: HandMadeLedger
) -> None:
    beside.write_text("models: 5\n")
    assert refused("pricing", "show", "m", "--db", book.path).startswith(
        f"hermes-telemetry pricing show: {beside}: line 1"
    )
