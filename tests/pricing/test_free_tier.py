"""From free to paid: what arms, what fires, what does neither."""

from pathlib import Path

import pytest

from hermes_telemetry.pricing import Catalog, Usage
from hermes_telemetry.pricing.free_tier import (
    is_free_call,
    is_paid_call,
    notice,
)

USED = Usage(input=10, output=5)
PRICES = """
models:
  gift: {input: 0, output: 0}
  plan: {_subscription: true}
  paid: {input: 1, output: 2}
  routed-gift: {input: 0, output: 0, _source: openrouter}
  routed-paid: {input: 1, output: 2, _source: openrouter}
"""


@pytest.fixture
def catalog(home: Path) -> Catalog:
    (home / "pricing.yaml").write_text(PRICES)
    return Catalog(home)


@pytest.mark.parametrize(
    ("model", "usage", "free", "paid"),
    [
        ("gift", USED, True, False),
        ("plan", USED, True, False),
        ("x:free", USED, True, False),
        ("gift", Usage(), False, False),
        ("gift", Usage(input=10, estimated=True), False, False),
        ("paid", USED, False, True),
        # No tokens, no cost: that does not make the model free.
        ("paid", Usage(), False, False),
        ("paid", Usage(input=10, estimated=True), False, False),
        ("unknown", USED, False, False),
        # Someone else's gift is an assumption here, and so is their price.
        ("routed-gift", USED, False, False),
        ("routed-paid", USED, False, False),
    ],
)
def test_what_a_call_shows(
    catalog: Catalog, model: str, usage: Usage, free: bool, paid: bool
) -> None:
    estimate = catalog.estimate_cost(usage, model, "nous")
    assert is_free_call(usage, estimate) is free
    assert is_paid_call(usage, estimate) is paid


def test_the_notice_tells_a_lost_gift_from_a_left_plan() -> None:
    assert notice("b/promo", "nous", 0.0123, declared=False) == (
        "b/promo at nous was free so far and is not any more. Its first paid call cost $0.01."
    )
    assert notice("plan", "", 1.5, declared=True) == (
        "plan left your plan: it was declared as covered, and this call was billed."
        " Its first paid call cost $1.50."
    )


def test_only_stated_gifts_without_another_price_are_known_beforehand(home: Path) -> None:
    (home / "pricing.yaml").write_text(
        """
        models:
          gift: {input: 0, output: 0}
          Named:free: {input: 0, output: 0, _source: openrouter}
          routed-gift: {input: 0, output: 0, _source: openrouter}
          plan: {_subscription: true}
          paid: {input: 1, output: 2}
          unsteady: {_estimated_price: true}
          gift-elsewhere-paid: {input: 0, output: 0, providers: {nous: {input: 1, output: 1}}}
          gpt-5: {input: 0, output: 0}
          google/gemini-2.5-pro: {input: 0, output: 0}
        """
    )
    assert Catalog(home).free_ids() == ["gift"]
