"""Token arithmetic, to the nano-dollar."""

import logging
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_telemetry.pricing import Price, Rates, Tier, Usage, cost_of, usage_from_host


def rates(
    input: str,
    output: str,
    cache_read: str | None = None,
    cache_write: str | None = None,
    reasoning: str | None = None,
    request: str = "0",
) -> Rates:
    return Rates(
        Decimal(input),
        Decimal(output),
        Decimal(cache_read or input),
        Decimal(cache_write or input),
        None if reasoning is None else Decimal(reasoning),
        Decimal(request),
    )


def listed(base: Rates, *tiers: Tier) -> Price:
    return Price("listed", "pricing.yaml", "m", base, tiers)


SONNET = listed(rates("3", "15", "0.30", "3.75"))


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(input=86, cache_read=17_817), "0.0056031", id="mostly cached"),
        pytest.param(Usage(output=1_000, reasoning=800), "0.015", id="reasoning is billed once"),
        pytest.param(
            Usage(input=200, cache_read=90_000, cache_write=2_000, output=500),
            "0.0426",
            id="every class",
        ),
        pytest.param(Usage(), "0", id="nothing used"),
        pytest.param(Usage(input=1), "0.000003", id="one token"),
    ],
)
def test_a_call_costs_its_tokens_at_their_rates(usage: Usage, usd: str) -> None:
    assert cost_of(usage, SONNET) == (Decimal(usd), None)


def test_more_reasoning_than_output_is_billed_as_the_output() -> None:
    price = listed(rates("3", "15", reasoning="60"))
    assert cost_of(Usage(output=100, reasoning=900), price)[0] == Decimal("0.0015")
    assert cost_of(Usage(output=100, reasoning=101), price)[0] == Decimal("0.0015")
    assert cost_of(Usage(output=100, reasoning=100), price)[0] == Decimal("0.006")


def test_a_reasoning_rate_of_its_own_holds_for_the_reasoning_alone() -> None:
    price = listed(rates("3", "15", reasoning="60"))
    # 200 * 15 + 800 * 60 = 51,000 per million
    assert cost_of(Usage(output=1_000, reasoning=800), price)[0] == Decimal("0.051")


def test_a_price_per_request_is_added_once_in_every_tier() -> None:
    tier = Tier(10, rates("6", "30", request="0.01"))
    price = listed(rates("3", "15", request="0.01"), tier)
    assert cost_of(Usage(input=1), price)[0] == Decimal("0.010003")
    assert cost_of(Usage(input=10), price)[0] == Decimal("0.01006")


@pytest.mark.parametrize(
    ("tokens_in", "usd", "tier_from"),
    [(271_999, "0.553998", None), (272_000, "1.098", 272_000), (272_001, "1.098004", 272_000)],
)
def test_the_whole_call_is_charged_at_the_tier_its_prompt_reaches(
    tokens_in: int, usd: str, tier_from: int | None
) -> None:
    price = listed(rates("2", "10"), Tier(272_000, rates("4", "15")))
    # Below: 271,999 * 2 + 1,000 * 10 = 553,998. From 272,000 on: 272,001 * 4 + 1,000 * 10 (or 15).
    expected = Decimal(usd) + (Decimal("0.005") if tier_from else 0)
    assert cost_of(Usage(input=tokens_in, output=1_000), price) == (expected, tier_from)


def test_the_prompt_that_reaches_a_tier_counts_the_caches_too() -> None:
    price = listed(rates("2", "10", "1", "3"), Tier(100, rates("4", "15", "2", "6")))
    usage = Usage(input=20, cache_read=50, cache_write=30)
    # 20 * 4 + 50 * 2 + 30 * 6 = 360
    assert cost_of(usage, price) == (Decimal("0.00036"), 100)


def test_the_highest_tier_that_is_reached_wins() -> None:
    price = listed(rates("1", "1"), Tier(10, rates("2", "2")), Tier(20, rates("3", "3")))
    assert [cost_of(Usage(input=n), price)[1] for n in (9, 10, 19, 20, 999)] == [
        None,
        10,
        10,
        20,
        20,
    ]


def test_the_record_names_the_rates_that_were_charged() -> None:
    price = listed(rates("2", "10", "0.2"), Tier(272_000, rates("4", "15", "0.4", "5", "20")))
    assert price.record() == {
        "basis": "listed",
        "source": "pricing.yaml",
        "matched_id": "m",
        "input": 2.0,
        "output": 10.0,
        "cache_read": 0.2,
        "cache_write": 2.0,
        "reasoning": None,
        "request": None,
        "tier_from": None,
    }
    charged = price.record(272_000)
    assert (charged["input"], charged["output"], charged["reasoning"]) == (4.0, 15.0, 20.0)
    assert charged["tier_from"] == 272_000


HOST = {
    "input_tokens": 200,
    "output_tokens": 34,
    "cache_read_tokens": 1_000,
    "cache_write_tokens": 7,
    "reasoning_tokens": 10,
    "request_count": 1,
    "prompt_tokens": 1_207,
    "total_tokens": 1_241,
}


def test_the_hosts_usage_is_taken_field_by_field() -> None:
    assert usage_from_host(HOST) == Usage(200, 34, 1_000, 7, 10)


@pytest.mark.parametrize(
    "nothing",
    [
        None,
        {},
        {"total_tokens": 5},
        {"prompt_tokens": 9},
        {"input_tokens": None, "output_tokens": "12", "prompt_tokens": 9},
        {"input_tokens": -5, "prompt_tokens": -5},
        {"output_tokens": 10**13},
        "12",
        [1],
    ],
)
def test_usage_that_names_no_count_is_missing_rather_than_zero(nothing: Any) -> None:
    assert usage_from_host(nothing) is None


def test_a_negative_input_beside_a_prompt_count_means_that_the_prompt_excluded_the_cache() -> None:
    usage = usage_from_host(
        {
            "input_tokens": -16_638,
            "prompt_tokens": 56_322,
            "cache_read_tokens": 72_960,
            "output_tokens": 87,
        }
    )
    assert usage == Usage(input=56_322, output=87, cache_read=72_960, estimated=True)
    cost, _ = cost_of(usage, listed(rates("1", "5", "0.1")))
    assert cost == Decimal("0.064053")


@pytest.mark.parametrize(
    "count",
    [math.nan, math.inf, -math.inf, -1, True, "12", None, [3], 10**13, 1e300],
    ids=repr,
)
@pytest.mark.parametrize(
    "name", ["output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"]
)
def test_a_count_that_is_none_is_nothing_of_its_class(name: str, count: Any) -> None:
    usage = usage_from_host({"input_tokens": 5, name: count})
    assert usage == Usage(input=5)


@pytest.mark.parametrize("count", [math.nan, -math.inf, True, "12"], ids=repr)
def test_an_input_that_is_no_count_is_not_replaced_by_the_prompt(count: Any) -> None:
    usage = usage_from_host({"input_tokens": count, "prompt_tokens": 9, "output_tokens": 2})
    assert usage == Usage(output=2)


def test_a_negative_input_without_a_valid_prompt_count_is_nothing() -> None:
    usage = usage_from_host({"input_tokens": -5, "prompt_tokens": -5, "output_tokens": 2})
    assert usage == Usage(output=2)


def test_counts_of_zero_are_a_call_that_used_nothing() -> None:
    assert usage_from_host({"input_tokens": 0, "output_tokens": 0}) == Usage()


def test_a_whole_number_in_a_float_is_a_count() -> None:
    assert usage_from_host({"input_tokens": 12.0}) == Usage(input=12)


def test_a_fault_of_a_field_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_telemetry.pricing.cost._reported", set())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            usage_from_host({"input_tokens": 1, "output_tokens": -4})
    assert [r.getMessage() for r in caplog.records] == [
        "usage field output_tokens holds no token count (negative): 0"
    ]


counts = st.integers(0, 10**9)
money = st.decimals(0, 10_000, places=6)
usages = st.builds(Usage, counts, counts, counts, counts, counts)
some_rates = st.builds(Rates, money, money, money, money, st.none() | money, money)
prices = st.builds(
    lambda base, tiers: listed(base, *(Tier(n, r) for n, r in sorted(tiers.items()))),
    some_rates,
    st.dictionaries(st.integers(1, 10**6), some_rates, max_size=3),
)


@settings(deadline=None)
@given(usages, prices)
def test_no_call_costs_less_than_nothing(usage: Usage, price: Price) -> None:
    assert cost_of(usage, price)[0] >= 0


@settings(deadline=None)
@given(usages, some_rates)
def test_the_cost_is_the_formula(usage: Usage, base: Rates) -> None:
    u = usage
    if u.reasoning > u.output:
        out = u.output * base.output
    else:
        thinking = base.output if base.reasoning is None else base.reasoning
        out = (u.output - u.reasoning) * base.output + u.reasoning * thinking
    whole = u.input * base.input + u.cache_read * base.cache_read + u.cache_write * base.cache_write
    expected = (whole + out) / Decimal(10**6) + base.request
    assert abs(float(cost_of(u, listed(base))[0]) - float(expected)) <= 1e-12 * max(
        1.0, float(expected)
    )


@settings(deadline=None)
@given(
    usages, some_rates, st.sampled_from(["input", "output", "cache_read", "cache_write"]), counts
)
def test_more_tokens_never_cost_less(usage: Usage, base: Rates, name: str, more: int) -> None:
    fewer = usage._replace(reasoning=0)
    bigger = fewer._replace(**{name: getattr(fewer, name) + more})
    price = listed(base)
    assert cost_of(bigger, price)[0] >= cost_of(fewer, price)[0]


@settings(deadline=None)
@given(usages, prices)
def test_the_rates_on_record_are_enough_to_work_the_cost_out_again(
    usage: Usage, price: Price
) -> None:
    cost, tier_from = cost_of(usage, price)
    record = price.record(tier_from)

    def rate(name: str) -> Decimal:
        return Decimal(str(record[name] or 0))

    again = Rates(
        rate("input"),
        rate("output"),
        rate("cache_read"),
        rate("cache_write"),
        None if record["reasoning"] is None else rate("reasoning"),
        rate("request"),
    )
    assert cost_of(usage, listed(again))[0] == cost
