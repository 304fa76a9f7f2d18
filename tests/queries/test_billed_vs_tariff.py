import sqlite3
from contextlib import closing

from hermes_telemetry import reports
from support.ledger import HandMadeLedger
from support.stopped_clock import StoppedClock

COSTS = "model cost_usd tariff_usd difference_usd"


def test_each_call_is_charged_by_the_tariff_of_its_time(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-06-10T10:00")
    ledger.tariff(4.0, 16.0, "2026-06-20T10:00")
    # 500,000 in and 250,000 out: 1 + 2 by the first tariff, 2 + 4 by the second.
    tokens = {"tokens_in": 500_000, "tokens_out": 250_000}
    ledger.call("a", 3.5, "2026-06-10T10:00:00", **tokens)
    ledger.call("a", 3.0, "2026-06-20T09:59:59.999999", **tokens)
    ledger.call("a", 3.0, "2026-06-20T10:00:00", **tokens)
    # Recorded 9.5, by tariff 3 + 3 + 6.
    assert ledger.ask("billed_vs_tariff") == [("m", 9.5, 12.0, -2.5, "p", 3, 3, 0, 0)]


def test_equal_amounts_do_not_differ(ledger: HandMadeLedger) -> None:
    # A dime of input, and 20 cents of it: in floats 0.1 + 0.2 is more than 0.3.
    ledger.tariff(0.1, 0.2, "2026-06-01")
    ledger.call("a", 0.3, tokens_in=1_000_000, tokens_out=1_000_000)
    assert ledger.ask("billed_vs_tariff", "difference_usd") == [(0.0,)]
    # Two billionths of a dollar more are a difference.
    ledger.call("a", 0.300000002, tokens_in=1_000_000, tokens_out=1_000_000)
    assert ledger.ask("billed_vs_tariff", "difference_usd") == [(2e-9,)]


def test_cache_tokens_have_their_rates_else_the_input_rate(ledger: HandMadeLedger) -> None:
    ledger.tariff(
        *(2.0, 8.0, "2026-06-01"),
        cache_read_cost_per_million=0.5,
        cache_write_cost_per_million=4.0,
        request_cost=0.25,
    )
    ledger.tariff(2.0, 8.0, "2026-06-01", model="plain")
    cached = {"cache_read_tokens": 1_000_000, "cache_write_tokens": 500_000}
    ledger.call("a", 2.0, model="m", **cached)
    ledger.call("a", 1.0, model="plain", **cached)
    # m: 0.5 read + 2 written + 0.25 for the request; plain: 1.5 million at 2.
    assert ledger.ask("billed_vs_tariff", COSTS) == [
        ("m", 2.0, 2.75, -0.75),
        ("plain", 1.0, 3.0, -2.0),
    ]


def test_what_only_one_side_knows_is_counted_and_not_compared(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-06-10")
    million = {"tokens_in": 1_000_000}
    ledger.call("a", 1.0, "2026-06-09", **million)  # before any tariff
    ledger.call("a", 2.5, "2026-06-11", **million)
    ledger.call("a", None, "2026-06-11", **million)  # no price
    ledger.call("a", 4.0, "2026-06-11", provider="q", **million)  # another provider's tariff
    columns = f"{COSTS} provider calls compared_calls unpriced_calls tariff_unpriced_calls"
    assert ledger.ask("billed_vs_tariff", columns) == [
        ("m", 4.0, None, None, "q", 1, 0, 0, 1),
        ("m", 3.5, 4.0, 0.5, "p", 3, 1, 1, 1),
    ]


def test_a_tariff_without_a_fixed_price_charges_nothing(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-06-10")
    ledger.tariff(None, None, "2026-06-12")
    ledger.call("a", 2.0, "2026-06-13", tokens_in=1_000_000)
    assert ledger.ask("billed_vs_tariff", COSTS) == [("m", 2.0, None, None)]


def test_what_a_call_takes_to_charge_does_not_grow_with_the_history_of_prices(
    ledger: HandMadeLedger,
) -> None:
    query = reports.load_queries()["billed_vs_tariff"]

    def steps() -> int:
        """In hundreds of SQLite's own."""
        taken = 0

        def count() -> None:
            nonlocal taken
            taken += 1

        with closing(sqlite3.connect(ledger.path)) as connection:
            reports.prepare_connection(connection, "UTC", StoppedClock().clock)
            connection.set_progress_handler(count, 100)
            reports.run(connection, query, {})
        return taken

    def steps_of_more_calls() -> int:
        before = steps()
        for _ in range(300):
            ledger.call("a", 1.0, tokens_in=1_000)
        return steps() - before

    ledger.tariff(2.0, 8.0, "2026-05-01")
    short = steps_of_more_calls()
    for number in range(300):
        ledger.tariff(2.0 + number, 8.0, f"2025-{1 + number // 28:02}-{1 + number % 28:02}")
    assert steps_of_more_calls() < 1.2 * short


def test_missing_token_counts_are_none(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-06-01")
    ledger.call("a", 2.0, tokens_in=1_000_000, tokens_out=None, cache_read_tokens=None)
    assert ledger.ask("billed_vs_tariff", COSTS) == [("m", 2.0, 2.0, 0.0)]


def test_nothing_said_means_thirty_days_and_every_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    ledger.call("a", 1.0, "2026-06-01T23:59:59.999999")
    ledger.call("a", 2.0, "2026-06-02T00:00")
    ledger.call("b", 4.0, "2026-06-02T00:00")
    assert ledger.ask("billed_vs_tariff", "cost_usd") == [(6.0,)]
    assert ledger.ask("billed_vs_tariff", "cost_usd", profile="work") == [(2.0,)]
    assert ledger.ask("billed_vs_tariff", "cost_usd", since="all", profile="work") == [(3.0,)]


def test_an_empty_ledger_has_nothing_to_compare(ledger: HandMadeLedger) -> None:
    assert ledger.ask("billed_vs_tariff", since="all") == []


def test_calls_of_no_known_provider_have_the_tariff_of_none(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-06-10", provider="")
    ledger.call("a", 2.5, "2026-06-11", provider=None, tokens_in=1_000_000)
    assert ledger.ask("billed_vs_tariff", COSTS) == [("m", 2.5, 2.0, 0.5)]


def test_a_cache_rate_of_0_beside_a_price_is_the_input_rate(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-06-10", cache_read_cost_per_million=0.0)
    ledger.call("a", 2.5, "2026-06-11", cache_read_tokens=1_000_000)
    assert ledger.ask("billed_vs_tariff", COSTS) == [("m", 2.5, 2.0, 0.5)]
