"""price_changes: each rate of the host's tariffs that rose or fell."""

from support.ledger import HandMadeLedger, stored

SHOW = "model rate change usd_before usd_after change_pct"


def test_each_rate_that_changed_is_a_row_with_both_its_values(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-04-01", source="list", cache_read_cost_per_million=0.5)
    ledger.tariff(
        *(3.0, 4.0, "2026-05-01"),
        cache_read_cost_per_million=0.5,
        source="list",
        pricing_version="v2",
    )
    # 2 -> 3 is 50 % more, 8 -> 4 is half; the cache read stays.
    may = stored("2026-05-01")
    assert ledger.ask("price_changes") == [
        ("m", may, "input", "rise", 2.0, 3.0, 50.0, "p", "list", "v2"),
        ("m", may, "output", "cut", 8.0, 4.0, -50.0, "p", "list", "v2"),
    ]


def test_a_rise_from_nothing_is_named_though_it_has_no_per_cent(ledger: HandMadeLedger) -> None:
    ledger.tariff(0.0, 2.0, "2026-05-01")
    ledger.tariff(1.0, 0.0, "2026-05-02")
    assert ledger.ask("price_changes", SHOW) == [
        ("m", "input", "from 0", 0.0, 1.0, None),
        ("m", "output", "to 0", 2.0, 0.0, -100.0),
    ]


def test_cache_rates_and_the_price_of_a_request_change_too(ledger: HandMadeLedger) -> None:
    for day, read, write, request in (("01", 0.5, 2.0, 0.25), ("02", 1.0, 3.0, 0.5)):
        ledger.tariff(
            *(2.0, 8.0, f"2026-05-{day}"),
            cache_read_cost_per_million=read,
            cache_write_cost_per_million=write,
            request_cost=request,
        )
    assert ledger.ask("price_changes", "rate usd_after change_pct") == [
        ("cache read", 1.0, 100.0),
        ("cache write", 3.0, 50.0),
        ("request", 0.5, 100.0),
    ]


def test_a_rate_is_compared_with_the_last_that_was_stated(ledger: HandMadeLedger) -> None:
    for day, read in (("01", None), ("02", 0.5), ("03", None), ("04", 1.0), ("05", None)):
        ledger.tariff(2.0, 8.0, f"2026-05-{day}", cache_read_cost_per_million=read)
    assert ledger.ask("price_changes", "changed_at usd_before usd_after") == [
        (stored("2026-05-04"), 0.5, 1.0)
    ]


def test_models_and_providers_are_compared_with_themselves_in_the_order_of_time(
    ledger: HandMadeLedger,
) -> None:
    ledger.tariff(4.0, 8.0, "2026-05-04", model="m", provider="p")
    ledger.tariff(1.0, 8.0, "2026-05-02", model="m", provider="q")
    ledger.tariff(2.0, 8.0, "2026-05-03", model="n", provider="p")
    # Recorded last, but taken first.
    ledger.tariff(2.0, 8.0, "2026-05-01", model="m", provider="p")
    ledger.tariff(4.0, 8.0, "2026-05-05", model="n", provider="p")
    assert ledger.ask("price_changes", "model provider usd_before usd_after") == [
        ("n", "p", 2.0, 4.0),
        ("m", "p", 2.0, 4.0),
    ]
    assert ledger.ask("price_changes", "model", model="m") == [("m",)]
