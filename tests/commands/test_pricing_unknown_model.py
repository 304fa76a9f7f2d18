"""`hermes-telemetry pricing show` for a model without a price: what to do about it."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.ledger import HandMadeLedger


def test_a_model_without_a_price_is_told_so_in_one_line_without_a_warning(cli) -> None:
    answer = cli("pricing", "show", "mystery")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[0] == (
        "mystery: no price is known, so its calls stay without a cost"
    )


def test_it_is_told_how_to_get_one(cli, prices: Path, book: HandMadeLedger) -> None:
    book.call("s", None, model="my: model", tokens_in=1_000_000)
    lines = cli("pricing", "show", "my: model", "--db", book.path).out.splitlines()
    assert lines[1:5] == [
        f"to price it, add it with its USD per million tokens to the models of {prices}:",
        '  "my: model": {input: INPUT_USD, output: OUTPUT_USD}',
        "then price the calls that are recorded:",
        f"  hermes-telemetry pricing fill --apply --db {book.path}",
    ]
    # What it says, done: a million tokens at 3 USD.
    entry = lines[2].replace("INPUT_USD", "3").replace("OUTPUT_USD", "15")
    prices.write_text(f"models:\n{entry}\n", encoding="utf-8")
    cli(*lines[4].split()[1:])
    (row,) = book.ask("cost_by_model", "cost_usd", since="all")
    assert row == (3.0,)
    assert "to price it" not in cli("pricing", "show", "my: model", "--db", book.path).out


def test_what_it_says_pasted_as_it_is_prices_nothing(
    cli, prices: Path, book: HandMadeLedger, caplog: pytest.LogCaptureFixture
) -> None:
    book.call("s", None, model="mystery", tokens_in=1_000_000)
    lines = cli("pricing", "show", "mystery", "--db", book.path).out.splitlines()
    prices.write_text(f"models:\n{lines[2]}\n", encoding="utf-8")
    cli(*lines[4].split()[1:])
    assert book.ask("cost_by_model", "cost_usd", since="all") == [(None,)]
    assert "the entry of 'mystery' is ignored: input is not a number" in caplog.text


@pytest.mark.parametrize("package", [None, SimpleNamespace(__spec__=True)])
def test_it_names_the_price_list_that_is_not_installed(
    cli, monkeypatch: pytest.MonkeyPatch, package: Any
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", package)
    advice = "genai-prices, which knows the list prices of many models, is not installed here"
    assert (advice in cli("pricing", "show", "mystery").out) == (package is None)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("hosue-llm-7b", "house-llm-7b"),  # as in the ledger
        ("HOUSE-LLM", "house-llm-7b"),
        ("my-own-modle", "my-own-model"),  # as in pricing.yaml
        ("claude-sonet-4-5", "claude-sonnet-4-5"),  # as in the built-in table
    ],
)
def test_an_id_near_a_known_one_is_asked_about(
    cli, prices: Path, book: HandMadeLedger, asked: str, meant: str
) -> None:
    prices.write_text("models: {My-Own-Model: {input: 1, output: 2}}")
    book.call("s", None, model="House-LLM-7B")
    first = cli("pricing", "show", asked, "--db", book.path).out.splitlines()[0]
    assert first == (
        f"{asked}: no price is known, so its calls stay without a cost: did you mean {meant}?"
    )


@pytest.mark.parametrize("asked", ["mystery", "house-llm-8b"])
def test_an_id_that_is_like_none_or_has_calls_is_not_asked_about(
    cli, book: HandMadeLedger, asked: str
) -> None:
    book.call("s", None, model="house-llm-7b")
    book.call("s", None, model="house-llm-8b")
    assert "did you mean" not in cli("pricing", "show", asked, "--db", book.path).out


def test_a_provider_near_one_of_the_ledger_is_asked_about(cli, book: HandMadeLedger) -> None:
    book.call("s", 0.5, model="m", provider="openrouter")
    answer = cli("pricing", "show", "m", "--provider", "openruoter", "--db", book.path)
    assert answer.out.splitlines()[-1] == (
        f"{book.path} has no calls of m at openruoter: did you mean openrouter?"
    )


def test_what_is_known_is_not_asked_about(cli, book: HandMadeLedger) -> None:
    book.call("s", None, model="house-llm-7b", provider="custom")
    book.call("s", None, model="house-llm-8b", provider="Custom-2")
    for model, provider in (("House-LLM-7b", "elsewhere"), ("mystery", "CUSTOM")):
        shown = cli("pricing", "show", model, "--provider", provider, "--db", book.path).out
        assert f"has no calls of {model} at {provider}" in shown
        assert "did you mean" not in shown


def test_a_question_is_no_part_of_the_json(cli, book: HandMadeLedger) -> None:
    book.call("s", 0.5, model="house-llm-7b")
    answer = cli("pricing", "show", "house-llm", "--json", "--db", book.path)
    assert (json.loads(answer.out)["charged"], answer.err) == ([], "")
