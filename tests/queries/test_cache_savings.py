import pytest

from support.ledger import HandMadeLedger


@pytest.fixture
def sonnet(ledger: HandMadeLedger) -> int:
    """Input 4 USD per million, cache read 0.5, cache write 5."""
    return ledger.price("listed", input=4.0, output=16.0, cache_read=0.5, cache_write=5.0)


def test_each_kind_of_input_with_its_cost_and_what_the_cache_saved(
    ledger: HandMadeLedger, sonnet: int
) -> None:
    ledger.call(
        *("a", 9.0),
        price=sonnet,
        tokens_in=250_000,
        cache_read_tokens=2_000_000,
        cache_write_tokens=500_000,
        tokens_out=1_000,
    )
    ledger.call("a", 3.0, price=sonnet, tokens_in=500_000, cache_read_tokens=1_000_000)
    # Fresh: 750,000 at 4. Read: 3 million at 0.5 in place of 4. Written: 500,000 at 5, not 4.
    assert ledger.ask("cache_savings") == [
        ("2026-07-01", 3.0, "fresh", 750_000, 0.0, 2, 0),
        ("2026-07-01", 1.5, "cache read", 3_000_000, 10.5, 2, 0),
        ("2026-07-01", 2.5, "cache write", 500_000, -0.5, 1, 0),
    ]


def test_a_time_that_cannot_be_read_hides_no_other_day(ledger: HandMadeLedger, sonnet: int) -> None:
    for at in ("2026-06-10T10:00", "2026-06-15T10:00:00.123456x+00:00", "2026-06-20T10:00"):
        ledger.call("a", 1.0, at, price=sonnet, tokens_in=1_000_000)
    assert ledger.ask("cache_savings", "day cost_usd") == [
        ("2026-06-20", 4.0),
        ("2026-06-15", 4.0),
        ("2026-06-10", 4.0),
    ]


def test_each_call_counts_at_the_rates_it_was_charged(ledger: HandMadeLedger, sonnet: int) -> None:
    dear = ledger.price("listed", input=8.0, output=16.0, cache_read=1.0, cache_write=8.0)
    ledger.call("a", 1.0, price=sonnet, cache_read_tokens=1_000_000)
    ledger.call("a", 1.0, price=dear, cache_read_tokens=1_000_000)
    # 0.5 + 1 in place of 4 + 8.
    assert ledger.ask("cache_savings", "kind cost_usd tokens saved_usd") == [
        ("cache read", 1.5, 2_000_000, 10.5)
    ]


def test_a_saving_has_no_digits_that_floats_leave_over(ledger: HandMadeLedger) -> None:
    # 0.1 in place of 0.3 for each of a million; in floats 0.3 - 0.1 is 0.19999999999999998.
    price = ledger.price("listed", input=0.3, output=1.0, cache_read=0.1)
    ledger.call("a", 0.1, price=price, cache_read_tokens=1_000_000)
    assert ledger.ask("cache_savings", "saved_usd") == [(0.2,)]


def test_a_call_without_recorded_rates_counts_its_tokens_only(
    ledger: HandMadeLedger, sonnet: int
) -> None:
    ledger.call("a", 2.0, price=sonnet, tokens_in=1_000_000)
    ledger.call("a", 2.0, tokens_in=3_000_000)
    ledger.call("a", None, tokens_in=1_000_000, cache_read_tokens=5)
    columns = "kind cost_usd tokens saved_usd calls unpriced_calls"
    assert ledger.ask("cache_savings", columns) == [
        ("fresh", 4.0, 5_000_000, 0.0, 3, 2),
        ("cache read", None, 5, None, 1, 1),
    ]


def test_a_cache_rate_that_is_not_recorded_is_the_input_rate(ledger: HandMadeLedger) -> None:
    plain = ledger.price("tariff", input=2.0, output=8.0)
    ledger.call("a", 1.0, price=plain, cache_read_tokens=500_000, cache_write_tokens=250_000)
    assert ledger.ask("cache_savings", "kind cost_usd saved_usd") == [
        ("cache read", 1.0, 0.0),
        ("cache write", 0.5, 0.0),
    ]


def test_a_call_without_input_has_no_kind(ledger: HandMadeLedger, sonnet: int) -> None:
    ledger.call("a", 1.0, price=sonnet, tokens_out=10)
    ledger.call("a", 1.0, price=sonnet, tokens_in=None, cache_read_tokens=None)
    assert ledger.ask("cache_savings") == []


def test_days_are_local_newest_first(ledger: HandMadeLedger, sonnet: int) -> None:
    for at in ("2026-06-29T21:59:59.999999", "2026-06-29T22:00", "2026-06-30T22:00"):
        ledger.call("a", 1.0, at, price=sonnet, tokens_in=1_000_000)
    assert ledger.ask("cache_savings", "day cost_usd", "Europe/Madrid") == [
        ("2026-07-01", 4.0),
        ("2026-06-30", 4.0),
        ("2026-06-29", 4.0),
    ]


def test_nothing_said_means_thirty_days_and_every_profile(
    ledger: HandMadeLedger, sonnet: int
) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    for session, at in (("a", "2026-06-01T23:59"), ("a", "2026-06-02"), ("b", "2026-06-02")):
        ledger.call(session, 1.0, at, price=sonnet, tokens_in=250_000)
    assert ledger.ask("cache_savings", "day calls") == [("2026-06-02", 2)]
    assert ledger.ask("cache_savings", "day calls", profile="work") == [("2026-06-02", 1)]
    assert ledger.ask("cache_savings", "day calls", since="all", until="2026-06-01") == [
        ("2026-06-01", 1)
    ]


def test_an_empty_ledger_saved_nothing(ledger: HandMadeLedger) -> None:
    assert ledger.ask("cache_savings", since="all") == []
