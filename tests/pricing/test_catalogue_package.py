"""The genai-prices package itself: our cost at the rates it states is the cost it states."""

from datetime import UTC, datetime, timedelta

import genai_prices
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_telemetry.pricing import Usage, cost_of
from hermes_telemetry.pricing.catalogue import Catalogue
from hermes_telemetry.pricing.entries import Multipliers
from hermes_telemetry.pricing.price import in_force

counts = st.integers(0, 400_000)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        [
            ("claude-sonnet-4-5", "anthropic"),
            ("gpt-5.4", "openai"),
            ("gemini-2.5-pro", "gemini"),
            ("grok-4.5", "xai"),
            ("kimi-k3", "kimi-coding"),
            ("glm-5.3", "zai"),
            ("deepseek-v4-pro", "deepseek"),
        ]
    ),
    st.builds(Usage, counts, counts, counts, counts),
)
def test_our_cost_at_its_rates_is_its_cost(id: tuple[str, str], usage: Usage) -> None:
    at = datetime(2026, 7, 1, 12, tzinfo=UTC)
    price = Catalogue(wait=10).price(*id, at, Multipliers())
    assert price is not None
    # It counts the whole prompt, and prices cached tokens as part of it.
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.prompt,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            output_tokens=usage.output,
        ),
        id[0],
        provider_id={"gemini": "google", "xai": "x-ai", "kimi-coding": "moonshotai"}.get(
            id[1], id[1]
        ),
        genai_request_timestamp=at,
    )
    assert cost_of(usage, price)[0] == theirs.total_price


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("deepseek-chat", "deepseek"),
        ("deepseek-v4-pro", "deepseek"),
        ("gemini-3.6-flash", "gemini"),
    ],
)
def test_its_periods_are_those_that_it_charges_by(model: str, provider: str) -> None:
    catalogue = Catalogue(wait=10)
    start = datetime(2026, 12, 30, tzinfo=UTC)
    seen = set()
    for half_hours in range(4 * 48):
        for early in (0, 1):
            at = start + timedelta(minutes=30 * half_hours) - timedelta(microseconds=early)
            price = catalogue.price(model, provider, at, Multipliers())
            assert price is not None
            # The package has picked these rates, by its own rule.
            assert in_force(price.periods, at).rates == price.rates
            seen.add(price.rates)
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-4-50", "anthropic"),
        ("claude-sonnet-4-9-ultra", "anthropic"),
        ("auto", "openrouter"),
        ("x", "xai"),
        ("claude-opus-4-5", "no-such-provider"),
    ],
)
def test_look_alikes_are_unknown_to_it(model: str, provider: str) -> None:
    assert Catalogue(wait=10).price(model, provider, None, Multipliers()) is None
