"""`hermes-telemetry pricing show`: which step of the lookup answered, what the others say, and what
the ledger's calls were priced at."""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_telemetry import host
from support import old_ledger
from support.ledger import HandMadeLedger, stored

PRICES = """\
models:
  Mine: {input: 2, output: 8, cache_read: 0.5, reasoning: 16, request: 0.25}
  gift: {input: 0, output: 0}
  plan: {_subscription: true}
  gemini-2.5-flash: {input: 1, output: 2}
  stepped:
    input: 2
    output: 10
    tiers: [{min_prompt_tokens: 272000, input: 4, output: 15, cache_read: 0.4}]
  nightly:
    input: 2
    output: 8
    cache_read: 0.5
    periods:
      - {from: 2026-06-01, hours: ["16:30", "00:30"], input: 1, output: 4, cache_read: 0.5}
  routed: {input: 1, output: 3, _source: openrouter}
  gpt-5: {input: 1, output: 3, _source: openrouter}
families:
  kin: {input: 3, output: 4}
"""


@pytest.fixture(autouse=True)
def price_list(prices: Path) -> None:
    prices.write_text(PRICES, encoding="utf-8")


def tariff(input: float, output: float) -> host.Tariff:
    stated = [Decimal(str(rate)) for rate in (input, output)]
    return host.Tariff(*stated, None, None, None, "host-list", None, None, None)


def catalogue_of(model: str) -> SimpleNamespace:
    """The genai-prices package, knowing one model at 1 and 4 USD per million."""

    def calc_price(usage: Any, asked: str, provider_id: str | None) -> SimpleNamespace:
        if asked != model:
            raise LookupError(asked)
        stated = SimpleNamespace(input_mtok=Decimal(1), output_mtok=Decimal(4))
        entry = SimpleNamespace(
            id=model, match=SimpleNamespace(equals=model), get_prices=lambda at: stated
        )
        return SimpleNamespace(provider=SimpleNamespace(id=provider_id), model=entry)

    return SimpleNamespace(Usage=SimpleNamespace, calc_price=calc_price)


@pytest.mark.parametrize(
    ("model", "provider", "step", "basis", "source", "matched", "rates"),
    [
        ("mine", "p", 1, "listed", "pricing.yaml", "Mine", (2, 8)),
        ("gift", "p", 1, "free", "pricing.yaml", "gift", (0, 0)),
        ("plan", "p", 1, "declared", "pricing.yaml", "plan", (0, 0)),
        ("nvidia/nemotron-nano-9b", "nvidia", 2, "builtin", None, None, (0.04, 0.16)),
        ("lab/x:free", "p", 3, "free", ":free", "lab/x:free", (0, 0)),
        ("google/gemini-2.5-flash", "p", 4, "listed", None, "gemini-2.5-flash", (1, 2)),
        ("hosted", "nous", 5, "tariff", "host-list", "hosted", (6, 7)),
        ("hosted-20260701", "nous", 5, "tariff", "host-list", "hosted", (6, 7)),
        ("kin-20260701", "p", 6, "family", "pricing.yaml", "kin", (3, 4)),
        ("catalogued", "p", 7, "catalogue", "genai-prices", "catalogued", (1, 4)),
        ("routed", "nous", 8, "assumed", "openrouter", "routed", (1, 3)),
        ("routed", "openrouter", 1, "listed", "openrouter", "routed", (1, 3)),
        ("mystery", "p", None, None, None, None, (None, None)),
    ],
)
def test_every_basis_is_shown(
    cli,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    provider: str,
    step: int | None,
    basis: str | None,
    source: str | None,
    matched: str | None,
    rates: tuple[float | None, float | None],
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", catalogue_of("catalogued"))  # type: ignore[arg-type]
    monkeypatch.setattr(
        host, "resolve_tariff", lambda id, *_: tariff(6, 7) if id == "hosted" else None
    )
    answer = cli("pricing", "show", model, "--provider", provider, "--json")
    assert (answer.code, answer.err) == (0, "")
    shown = json.loads(answer.out)
    assert (shown["model"], shown["provider"]) == (model, provider)
    assert (shown["step"], shown["basis"]) == (step, basis)
    assert (shown["input"], shown["output"]) == rates
    if source:
        assert shown["source"] == source
    if matched:
        assert shown["matched_id"] == matched
    assert [each["step"] for each in shown["steps"]][:1] == ([] if step is None else [step])


def test_the_price_is_told_in_words_with_the_answers_of_all_steps(cli) -> None:
    answer = cli("pricing", "show", "mine", "--provider", "p")
    assert answer.out.splitlines()[:4] == [
        "mine at p: listed (step 1, pricing.yaml)",
        "source      pricing.yaml",
        "matched id  Mine",
        "rates       input 2, output 8, cache read 0.5, cache write 2, reasoning 16,"
        " and 0.25 a call",
    ]
    steps = [line.split() for line in answer.out.splitlines()[8:]]
    assert steps[0] == [
        *("1", "pricing.yaml", "listed", "2", "8", "0.5", "2", "16", "0.25", "pricing.yaml", "Mine")
    ]
    assert [(line[0], line[-1]) for line in steps[1:]] == [(str(n), "–") for n in range(2, 9)]


def test_other_steps_say_what_they_would_charge(cli) -> None:
    shown = json.loads(cli("pricing", "show", "gemini-2.5-flash", "--json").out)
    assert [(each["step"], each["basis"], each["input"]) for each in shown["steps"]][:2] == [
        (1, "listed", 1.0),
        (2, "builtin", 0.3),
    ]
    shown = json.loads(cli("pricing", "show", "gpt-5", "--provider", "openai", "--json").out)
    assert (shown["basis"], shown["steps"][-1]["basis"]) == ("builtin", "assumed")


def test_tiers_are_shown_with_their_rates(cli) -> None:
    shown = json.loads(cli("pricing", "show", "stepped", "--json").out)
    assert shown["tiers"] == [
        {
            "min_prompt_tokens": 272000,
            "input": 4.0,
            "output": 15.0,
            "cache_read": 0.4,
            "cache_write": 4.0,
            "reasoning": None,
            "request": None,
        }
    ]
    assert cli("pricing", "show", "stepped").out.splitlines()[4:6] == [
        "            from 272,000 prompt tokens on:",
        "            input 4, output 15, cache read 0.4, cache write 4",
    ]


@pytest.mark.parametrize(
    ("time", "now", "input"), [("16:29:59", [True, False], 2.0), ("16:30:00", [False, True], 1.0)]
)
def test_a_price_that_changes_by_the_hour_shows_its_hours(
    cli, prices_at: Callable[[str], None], time: str, now: list[bool], input: float
) -> None:
    prices_at(time)
    shown = json.loads(cli("pricing", "show", "nightly", "--json").out)
    rates = {"cache_read": 0.5, "reasoning": None, "request": None}
    assert shown["input"] == input
    assert shown["periods"] == [
        {
            "from": None,
            "hours": None,
            "counts_now": now[0],
            "input": 2.0,
            "output": 8.0,
            "cache_write": 2.0,
            "tiers": [],
            **rates,
        },
        {
            "from": "2026-06-01",
            "hours": ["16:30", "00:30"],
            "counts_now": now[1],
            "input": 1.0,
            "output": 4.0,
            "cache_write": 1.0,
            "tiers": [],
            **rates,
        },
    ]
    marks = [f" (now, {time[:5]} UTC)" if counts else "" for counts in now]
    lines = cli("pricing", "show", "nightly").out.splitlines()
    assert lines[4:7] == [
        "periods     of those that hold when a call is made the last counts",
        f"            at any time{marks[0]}: input 2, output 8, cache read 0.5, cache write 2",
        f"            from 2026-06-01 on, 16:30 to 00:30 UTC{marks[1]}:"
        " input 1, output 4, cache read 0.5, cache write 1",
    ]
    assert lines[8].endswith(f" at {time[:5]} UTC by each step of the lookup:")


def test_a_price_that_is_always_the_same_has_no_periods(cli) -> None:
    assert json.loads(cli("pricing", "show", "mine", "--json").out)["periods"] == []
    assert json.loads(cli("pricing", "show", "mystery", "--json").out)["periods"] == []
    assert "periods" not in cli("pricing", "show", "mine").out


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_model_is_refused(refused: Callable[..., str], blank: str) -> None:
    assert refused("pricing", "show", blank).startswith(
        "hermes-telemetry pricing show: the MODEL is blank"
    )


def test_without_the_host_its_newest_tariff_in_the_ledger_answers(
    cli, book: HandMadeLedger
) -> None:
    book.tariff(5.0, 6.0, "2026-07-01", model="dated-20260701", resolved_model="dated")
    book.tariff(7.0, 8.0, "2026-07-02", model="dated-20260701", source="models-api")
    book.tariff(-1.0, -1.0, "2026-07-02", model="auto")
    arguments = ("--provider", "p", "--json", "--db", book.path)
    shown = json.loads(cli("pricing", "show", "dated-20260701", *arguments).out)
    assert (shown["basis"], shown["source"], shown["input"]) == ("tariff", "models-api", 7.0)
    assert json.loads(cli("pricing", "show", "Dated-20260701", *arguments).out)["input"] == 7.0
    assert json.loads(cli("pricing", "show", "auto", *arguments).out)["basis"] is None


def test_a_price_is_shown_without_a_ledger_that_can_be_read(cli, tmp_path: Path) -> None:
    corrupt = tmp_path / "corrupt.db"
    corrupt.write_bytes(b"no ledger" * 1000)
    older = old_ledger.build(tmp_path / "v12.db", 12)
    for path, reason in (
        (tmp_path / "no.db", "there is no file"),
        (older, f"run `hermes-telemetry migrate --db {older}` first"),
        (corrupt, str(corrupt)),
    ):
        answer = cli("pricing", "show", "gemini-2.5-pro", "--db", path)
        (line,) = answer.err.splitlines()
        assert line.startswith("shown without the ledger's prices: ")
        assert reason in line
        assert answer.code == 0
        assert answer.out.startswith("gemini-2.5-pro: builtin (step 2, built-in table)\n")


def charged(cli, book: HandMadeLedger, *arguments: str) -> list[dict[str, Any]]:
    """What `--json` says of the calls of the model m."""
    shown = json.loads(cli("pricing", "show", "m", *arguments, "--json", "--db", book.path).out)
    return shown["charged"]


def test_the_prices_of_the_ledgers_calls_are_shown_with_their_calls(
    cli, book: HandMadeLedger
) -> None:
    cheap = book.price("listed", source="list", matched_id="M", input=1.0, output=4.0)
    dear = book.price("listed", source="list", matched_id="M", input=2.0, output=4.0)
    # Recorded in another order than the calls were made in.
    for usd, day, price in ((0.5, "03", dear), (0.25, "01", cheap), (0.125, "02", cheap)):
        book.call("s", usd, f"2026-06-{day}T10:00:00", price=price, tokens_in=1)
    book.call("s", 8.0, model="n", price=dear)
    first, second = charged(cli, book)
    assert first == {
        "provider": "p",
        "calls": 2,
        "cost_usd": 0.375,
        "first_call": stored("2026-06-01T10:00:00"),
        "last_call": stored("2026-06-02T10:00:00"),
        "basis": "listed",
        "input": 1.0,
        "output": 4.0,
        "cache_read": None,
        "cache_write": None,
        "reasoning": None,
        "request": None,
        "from_prompt_tokens": None,
        "source": "list",
        "matched_id": "M",
        "why": None,
    }
    assert [second[key] for key in ("input", "calls", "cost_usd")] == [2.0, 1, 0.5]
    lines = cli("pricing", "show", "m", "--db", book.path).out.splitlines()
    place = lines.index(f"The 3 calls of m in {book.path} were priced at:")
    assert [line.split() for line in lines[place + 3 :]] == [
        [*("p", "2", "$0.38", "2026-06-01T10:00:00Z", "2026-06-02T10:00:00Z"), *listed]
        if n == 0
        else [*("p", "1", "$0.50", "2026-06-03T10:00:00Z", "2026-06-03T10:00:00Z"), *listed]
        for n, listed in enumerate((["listed", "1", "4", "list"], ["listed", "2", "4", "list"]))
    ]


@pytest.mark.parametrize(
    ("basis", "source", "why"),
    [
        ("free", ":free", "free: the id ends in :free"),
        ("free", "openrouter", "free: its entry in pricing.yaml says 0 (source openrouter)"),
        (
            *("declared", "pricing.yaml"),
            "declared free: pricing.yaml says that a plan covers it (_subscription)",
        ),
        ("tariff", "none", "priced at 0: the host says that a subscription includes it"),
        ("tariff", "models-api", "priced at 0: the rates of the tariff price are 0"),
        ("family", "pricing.yaml", "priced at 0: the rates of the family price are 0"),
    ],
)
def test_a_zero_says_why_it_is_one(
    cli, book: HandMadeLedger, basis: str, source: str, why: str
) -> None:
    price = book.price(basis, source=source, input=0.0, output=0.0)
    book.call("s", 0.0, tokens_in=1000, price=price)
    (shown,) = charged(cli, book)
    assert (shown["cost_usd"], shown["basis"], shown["why"]) == (0.0, basis, why)
    assert why in cli("pricing", "show", "m", "--db", book.path).out


def test_a_price_whose_input_alone_is_free_says_so(cli, book: HandMadeLedger) -> None:
    price = book.price("listed", input=0.0, output=5.0)
    book.call("s", 0.0, tokens_in=5000, tokens_out=0, price=price)
    (shown,) = charged(cli, book)
    assert shown["why"] == "priced at 0: the rates of the tokens used are 0"


def test_calls_without_a_price_or_a_record_are_kept_apart(cli, book: HandMadeLedger) -> None:
    price = book.price("listed", input=1.0, output=4.0)
    book.call("s", None, "2026-06-01", tokens_in=1000)
    book.call("s", 0.0, "2026-06-02", tokens_in=1000)
    book.call("s", 0.5, "2026-06-03", tokens_in=1000)
    book.call("s", 0.0, "2026-06-04", price=price)
    assert [(each["cost_usd"], each["calls"], each["why"]) for each in charged(cli, book)] == [
        (None, 1, "unpriced: no price was known, so the cost is NULL and not 0"),
        (0.0, 1, "unexplained: another program wrote 0"),
        (0.5, 1, "its price is not in the price record"),
        (0.0, 1, "no tokens were used"),
    ]
    assert "unpriced: no price was known" in cli("pricing", "show", "m", "--db", book.path).out


def test_a_provider_shows_its_own_calls_and_none_shows_all(cli, book: HandMadeLedger) -> None:
    book.call("s", 0.5, "2026-06-01", provider="p")
    book.call("s", 0.25, "2026-06-02", provider="q")
    book.call("s", 0.125, "2026-06-03", provider=None)
    assert [(each["provider"], each["cost_usd"]) for each in charged(cli, book)] == [
        ("p", 0.5),
        ("q", 0.25),
        ("", 0.125),
    ]
    assert [each["cost_usd"] for each in charged(cli, book, "--provider", "q")] == [0.25]
    answer = cli("pricing", "show", "m", "--provider", "r", "--db", book.path)
    assert answer.out.splitlines()[-1] == f"{book.path} has no calls of m at r"


@pytest.mark.parametrize("asked", ["half", "HALF", " Half "])
def test_calls_are_found_regardless_of_case_as_prices_are(
    cli, book: HandMadeLedger, asked: str
) -> None:
    book.call("s", 0.5, "2026-06-01", model="half", provider="Nous")
    book.call("s", 0.25, "2026-06-02", model="Half", provider="nous")
    book.call("s", 4.0, "2026-06-03", model="half-2", provider="nous")
    book.call("s", 8.0, "2026-06-04", model="half", provider="other")
    arguments = ("pricing", "show", asked, "--provider", "NOUS", "--json", "--db", book.path)
    shown = json.loads(cli(*arguments).out)["charged"]
    assert [(each["provider"], each["cost_usd"]) for each in shown] == [
        ("Nous", 0.5),
        ("nous", 0.25),
    ]


def test_tokens_of_the_cache_are_tokens(cli, book: HandMadeLedger) -> None:
    nothing = {"tokens_in": 0, "tokens_out": 0}
    book.call("s", 0.0, "2026-06-01", **nothing, cache_read_tokens=9)
    (shown,) = charged(cli, book)
    assert shown["why"] == "unexplained: another program wrote 0"
    price = book.price("listed", input=1.0, output=4.0, cache_read=0.0, cache_write=0.0)
    book.call("s", 0.0, "2026-06-02", price=price, **nothing, cache_write_tokens=9)
    assert charged(cli, book)[1]["why"] == "priced at 0: the rates of the tokens used are 0"


def test_without_a_ledger_or_its_price_record_the_calls_are_left_out(
    cli, book: HandMadeLedger
) -> None:
    assert json.loads(cli("pricing", "show", "m", "--json").out)["charged"] is None
    with closing(sqlite3.connect(book.path)) as conn:
        conn.execute("drop table llm_call_prices")
    answer = cli("pricing", "show", "m", "--json", "--db", book.path)
    assert (answer.code, json.loads(answer.out)["charged"]) == (0, None)
    assert answer.err == f"shown without its calls: {book.path} has no price record\n"


def test_a_price_file_that_cannot_be_read_is_one_line(
    refused: Callable[..., str], prices: Path
) -> None:
    prices.write_text("models:\n  m: {input: 1\n", encoding="utf-8")
    assert refused("pricing", "show", "m").startswith(
        f"hermes-telemetry pricing show: {prices}: line 3, column 1: "
    )
