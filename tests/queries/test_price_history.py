from support.ledger import HandMadeLedger, stored


def test_tariffs_are_intervals_that_end_where_the_next_begins(ledger: HandMadeLedger) -> None:
    ledger.tariff(
        *(2.0, 8.0, "2026-04-01T10:00"),
        cache_read_cost_per_million=0.5,
        cache_write_cost_per_million=2.5,
        source="list",
        pricing_version="v1",
    )
    ledger.tariff(3.0, 8.0, "2026-05-01T10:00", source="list", pricing_version="v2")
    # Input 2 -> 3 is 50 % more, output as before; the cache rates are stated no longer.
    april, may = stored("2026-04-01T10:00"), stored("2026-05-01T10:00")
    assert ledger.ask("price_history") == [
        (may, 3.0, None, 8.0, None, None, 50.0, "p", "m", "list", "v2", "rise"),
        (april, 2.0, may, 8.0, 0.5, 2.5, None, "p", "m", "list", "v1", "first"),
    ]


def test_the_change_is_that_of_the_rate_that_changed_most(ledger: HandMadeLedger) -> None:
    for day, input, output, read in (
        ("01", 2.0, 8.0, 0.5),
        ("02", 2.5, 4.0, 0.5),  # +25 % and -50 %
        ("03", 2.5, 4.0, 1.0),  # the cache read alone: +100 %
        ("04", 2.5, 4.0, 1.0),  # another version of the same rates
    ):
        ledger.tariff(input, output, f"2026-05-{day}", cache_read_cost_per_million=read)
    assert ledger.ask("price_history", "change_pct change") == [
        (0.0, "none"),
        (100.0, "rise"),
        (-50.0, "cut"),
        (None, "first"),
    ]


def test_a_price_per_request_that_doubles_is_a_change(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 8.0, "2026-05-01", request_cost=0.25)
    ledger.tariff(2.0, 8.0, "2026-05-02", request_cost=0.5)
    assert ledger.ask("price_history", "change_pct") == [(100.0,), (None,)]


def test_from_nothing_there_is_no_per_cent_and_to_nothing_it_is_all(
    ledger: HandMadeLedger,
) -> None:
    for day, input, output in (
        ("01", 0.0, 0.0),
        ("02", 0.0, 0.0),
        ("03", 0.0, 1.0),
        ("04", 2.0, 2.0),  # output doubles, but input comes from nothing
        ("05", 0.0, 0.0),
    ):
        ledger.tariff(input, output, f"2026-05-{day}")
    assert ledger.ask("price_history", "change_pct change") == [
        (-100.0, "to 0"),
        (None, "from 0"),
        (None, "from 0"),
        (0.0, "none"),
        (None, "first"),
    ]


def test_a_change_is_unknown_where_no_rate_is_stated_twice(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, None, "2026-05-01")
    ledger.tariff(None, 8.0, "2026-05-02")
    assert ledger.ask("price_history", "change_pct change") == [(None, None), (None, "first")]


def test_of_equal_changes_the_one_of_the_rate_that_is_named_first_is_told(
    ledger: HandMadeLedger,
) -> None:
    def tariff(day: str, input: float, output: float, read: float, write: float) -> None:
        ledger.tariff(
            *(input, output, f"2026-05-{day}"),
            cache_read_cost_per_million=read,
            cache_write_cost_per_million=write,
        )

    tariff("01", 2.0, 8.0, 2.0, 2.0)
    tariff("02", 3.0, 4.0, 1.0, 3.0)  # +50, -50, -50, +50
    tariff("03", 3.0, 6.0, 0.5, 1.5)  # 0, +50, -50, -50
    tariff("04", 3.0, 6.0, 0.25, 2.25)  # 0, 0, -50, +50
    assert ledger.ask("price_history", "change_pct") == [(-50.0,), (50.0,), (50.0,), (None,)]


def test_of_two_tariffs_of_one_instant_the_one_recorded_later_holds(
    ledger: HandMadeLedger,
) -> None:
    at = "2026-05-01"
    ledger.tariff(2.0, 2.0, at)
    ledger.tariff(3.0, 2.0, at)
    ledger.call("a", 3.0, tokens_in=1_000_000)
    show = "input_usd_per_million valid_from valid_to change_pct"
    assert ledger.ask("price_history", show) == [
        (3.0, stored(at), None, 50.0),
        (2.0, stored(at), stored(at), None),
    ]
    assert ledger.ask("billed_vs_tariff", "tariff_usd") == [(3.0,)]


def test_models_and_providers_have_histories_of_their_own(ledger: HandMadeLedger) -> None:
    ledger.tariff(1.0, 1.0, "2026-05-01", model="m", provider="p")
    ledger.tariff(2.0, 2.0, "2026-05-02", model="m", provider="q")
    ledger.tariff(4.0, 4.0, "2026-05-03", model="n", provider="p")
    ledger.tariff(1.5, 1.5, "2026-05-04", model="m", provider="p")
    show = "provider model input_usd_per_million change_pct"
    assert ledger.ask("price_history", show) == [
        ("p", "m", 1.5, 50.0),
        ("p", "n", 4.0, None),
        ("q", "m", 2.0, None),
        ("p", "m", 1.0, None),
    ]
    assert ledger.ask("price_history", show, model="n") == [("p", "n", 4.0, None)]


def test_a_snapshot_that_came_in_late_stands_where_it_was_taken(ledger: HandMadeLedger) -> None:
    ledger.tariff(2.0, 2.0, "2026-05-02")
    ledger.tariff(1.0, 1.0, "2026-05-01")
    assert ledger.ask("price_history", "input_usd_per_million valid_to change_pct") == [
        (2.0, None, 100.0),
        (1.0, stored("2026-05-02"), None),
    ]


def test_an_empty_ledger_has_no_tariffs(ledger: HandMadeLedger) -> None:
    assert ledger.ask("price_history") == []
