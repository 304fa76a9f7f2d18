"""`hermes-telemetry pricing fill`: prices what has no price, and never touches what has one."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import host
from support.ledger import HandMadeLedger
from support.ledger_facts import ask_ledger, faults

PRICES = """\
models:
  known: {input: 2, output: 8}
  routed: {input: 1, output: 3, _source: openrouter}
"""


@pytest.fixture
def path(book: HandMadeLedger, prices: Path) -> Path:
    """Two calls of a model whose price is known now, one of a model without any, one that has a
    price already, from when the model cost half.
    """
    prices.write_text(PRICES, encoding="utf-8")
    book.run("a", cost_usd=0.5, api_calls=2)
    book.run("b", api_calls=2)
    tokens = {"tokens_in": 500_000, "tokens_out": 125_000}  # 1 USD in, 1 USD out
    book.call("a", 0.5, "2026-07-01T10:00", model="known", tokens_in=500_000)
    book.call("a", None, "2026-07-01T11:00", model="known", **tokens)
    book.call("b", None, "2026-07-02T11:00", model="known", **tokens, cache_read_tokens=250_000)
    book.call("b", None, "2026-07-02T12:00", model="mystery", **tokens)
    return book.path


def costs(path: Path) -> list[Any]:
    return [cost for (cost,) in ask_ledger(path, "select cost_usd from llm_calls order by id")]


def test_without_apply_it_shows_what_could_be_filled_and_writes_nothing(cli, path: Path) -> None:
    answer = cli("pricing", "fill", "--db", path)
    assert (answer.code, answer.err) == (1, "")
    header, _, group, *told = answer.out.splitlines()
    assert header.split() == [
        "model",
        "provider",
        "calls",
        "cost_usd",
        "basis",
        "source",
        "matched_id",
    ]
    # 2 + 2.5: a missing cache rate is the input rate.
    assert group.split() == ["known", "p", "2", "$4.50", "listed", "pricing.yaml", "known"]
    assert told == [
        "no price: mystery at p (1 calls)",
        "2 of 3 unpriced calls have a price now: $4.50",
        "nothing is written without --apply",
    ]
    assert costs(path) == [0.5, None, None, None]


def test_with_apply_rows_and_totals_move_and_priced_rows_stay(cli, path: Path) -> None:
    answer = cli("pricing", "fill", "--apply", "--db", path)
    assert (answer.code, answer.out.splitlines()[-1]) == (0, "filled 2")
    assert costs(path) == [0.5, 2.0, 2.5, None]
    assert faults(path) == []
    assert ask_ledger(path, "select cost_usd from runs order by session_id") == [(2.5,), (2.5,)]
    again = cli("pricing", "fill", "--db", path)
    assert again.code == 0
    assert "0 of 1 unpriced calls have a price now" in again.out


def test_the_same_as_json(cli, path: Path) -> None:
    seen = json.loads(cli("pricing", "fill", "--json", "--db", path).out)
    assert seen == {
        "file": str(path),
        "applied": False,
        "unpriced": 3,
        "undated": 0,
        "fillable": 2,
        "filled": 0,
        "cost_usd": 4.5,
        "groups": [
            {
                "model": "known",
                "provider": "p",
                "calls": 2,
                "cost_usd": 4.5,
                "basis": "listed",
                "source": "pricing.yaml",
                "matched_id": "known",
            }
        ],
        "left": [{"model": "mystery", "provider": "p", "calls": 1}],
    }
    applied = json.loads(cli("pricing", "fill", "--apply", "--json", "--db", path).out)
    assert applied == seen | {"applied": True, "filled": 2}


def test_only_calls_from_a_day_on_in_the_zone_of_the_reports(cli, path: Path) -> None:
    # In Kiritimati 2 July begins at 10:00 UTC on 1 July, an hour before the first of the two.
    assert (
        '"fillable": 1'
        in cli("pricing", "fill", "--since", "2026-07-02", "--json", "--db", path).out
    )
    path.with_name("budget.yaml").write_text("timezone: Pacific/Kiritimati\n", encoding="utf-8")
    answer = cli("pricing", "fill", "--since", "2026-07-02", "--apply", "--db", path)
    assert "2 of 3 unpriced calls" in answer.out


def test_an_assumed_price_is_marked_and_the_host_is_asked(
    cli, path: Path, book: HandMadeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    tariff = host.Tariff(Decimal(4), Decimal(4), None, None, None, "list", None, None, None)
    monkeypatch.setattr(
        host, "resolve_tariff", lambda model, *_: tariff if model == "hosted" else None
    )
    for model in ("routed", "hosted"):
        book.run(model, api_calls=1)
        book.call(model, None, model=model, provider="nous", tokens_in=1_000_000)
    cli("pricing", "fill", "--apply", "--db", path)
    assert ask_ledger(
        path,
        "select basis, llm_calls.cost_usd, llm_calls.provider_assumed, provider_assumed_calls"
        " from llm_calls join llm_call_prices on call_id = llm_calls.id"
        " join prices_used on prices_used.id = price_id join runs using (session_id)"
        " where llm_calls.provider = 'nous' order by llm_calls.id",
    ) == [("assumed", 1.0, 1, 1), ("tariff", 4.0, 0, 0)]


def run_usd(path: Path) -> list[Any]:
    return ask_ledger(path, "select cost_usd from runs order by session_id")


def test_a_new_price_alters_no_stored_cost(cli, path: Path, prices: Path) -> None:
    cli("pricing", "fill", "--apply", "--db", path)
    before = costs(path), run_usd(path)
    prices.write_text(PRICES.replace("input: 2", "input: 200"), encoding="utf-8")
    cli("pricing", "fill", "--apply", "--db", path)
    assert (costs(path), run_usd(path)) == before


def test_bad_input_is_one_line(refused: Callable[..., str], path: Path, tmp_path: Path) -> None:
    assert refused("pricing", "fill", "--since", "soon", "--db", path) == (
        "hermes-telemetry pricing fill: --since: 'soon' is neither a date (2026-07-01),"
        " an ISO instant (2026-07-01T12:00:00Z), today, yesterday, week,"
        " last-week, month, last-month, an age (24h, 7d, 4w) nor all"
    )
    missing = tmp_path / "no.db"
    for flags in ([], ["--apply"]):
        line = refused("pricing", "fill", *flags, "--db", missing)
        assert f"there is no file {missing}" in line
    assert not missing.exists()


def test_a_call_costs_what_the_host_charged_at_its_time(cli, book: HandMadeLedger) -> None:
    book.tariff(2.0, 8.0, "2026-07-02", model="t")
    book.tariff(3.0, 12.0, "2026-07-04", model="t")
    book.run("a", api_calls=4)
    for at in ("07-01T12:00", "07-02T00:00", "07-03T23:59:59", "07-04T00:00"):
        book.call("a", None, f"2026-{at}", model="t", tokens_in=500_000, tokens_out=125_000)
    assert cli("pricing", "fill", "--apply", "--db", book.path).code == 0
    # 1 + 1 by the first tariff, which is the earliest for the call before it; then 1.5 + 1.5.
    assert costs(book.path) == [2.0, 2.0, 2.0, 3.0]
    assert ask_ledger(book.path, "select cost_usd from runs") == [(9.0,)]


def test_a_call_whose_time_cannot_be_read_is_left_out_and_counted(cli, path: Path) -> None:
    with closing(sqlite3.connect(path)) as ledger, ledger:
        ledger.execute("update llm_calls set ts = '2026-07-41T25:00' where id = 2")
    answer = cli("pricing", "fill", "--apply", "--db", path)
    assert answer.code == 0
    assert "left out: 1 calls whose time cannot be read" in answer.out.splitlines()
    # 0.5 million in and 0.25 cached at 2, 0.125 million out at 8.
    assert costs(path) == [0.5, None, 2.5, None]
