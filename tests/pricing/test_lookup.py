"""Which price holds for a model at a provider: the lookup chain, step by step."""

import logging
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from hermes_telemetry.pricing import Catalog, Price, Rates, Usage
from hermes_telemetry.pricing.catalogue import Catalogue
from support.stopped_clock import StoppedClock

LISTED = """
models:
  Acme/Model: {input: 3, output: 15, cache_read: 0.3}
  gift: {input: 0, output: 0}
  per-call: {input: 0, output: 0, request: 0.01}
  plan: {_subscription: true}
  routed: {input: 1, output: 2, _source: openrouter}
  routed-gift: {input: 0, output: 0, _source: openrouter}
  no-fixed-price: {input: 1, output: 2, _estimated_price: true}
  two-prices: {input: 3, output: 15, _source: openrouter, providers: {Nous: {input: 1, output: 5}}}
  one-provider: {providers: {nous: {input: 1, output: 5}}}
  paid-here: {input: 3, output: 15, providers: {nous: {_subscription: true}}}
  claude-opus-4-5: {input: 7, output: 70}
  gemini-2.5-pro: {input: 9, output: 90}
"""


@pytest.fixture
def catalog(home: Path) -> Catalog:
    (home / "pricing.yaml").write_text(LISTED)
    return Catalog(home)


def answer(price: Price | None) -> tuple[str, float, float] | None:
    return price and (price.basis, float(price.rates.input), float(price.rates.output))


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        # 1: the user's own entries
        ("acme/model", "x", ("listed", 3, 15)),
        ("ACME/MODEL", "", ("listed", 3, 15)),
        ("gift", "x", ("free", 0, 0)),
        ("per-call", "x", ("listed", 0, 0)),
        ("plan", "x", ("declared", 0, 0)),
        ("routed", "openrouter", ("listed", 1, 2)),
        ("routed", "My-OpenRouter-proxy", ("listed", 1, 2)),
        ("routed", "", ("listed", 1, 2)),
        ("routed-gift", "openrouter", ("free", 0, 0)),
        ("two-prices", "nous", ("listed", 1, 5)),
        ("two-prices", "NOUS", ("listed", 1, 5)),
        ("two-prices", "openrouter", ("listed", 3, 15)),
        ("one-provider", "nous", ("listed", 1, 5)),
        ("paid-here", "nous", ("declared", 0, 0)),
        ("paid-here", "other", ("listed", 3, 15)),
        # 1 before 2
        ("claude-opus-4-5", "anthropic", ("listed", 7, 70)),
        # 2: the built-in table
        ("claude-opus-4-6", "anthropic", ("builtin", 5, 25)),
        ("nvidia/nemotron-3-super-120b-a12b", "nvidia", ("builtin", 0.1, 0.5)),
        ("gemini-2.5-flash", "gemini", ("builtin", 0.3, 2.5)),
        # 3: free by name
        ("anything/at-all:free", "nous", ("free", 0, 0)),
        ("nvidia/nemotron-3-ultra-550b-a55b:free", "x", ("free", 0, 0)),
        ("nvidia/nemotron-3-super-120b-a12b:FREE", "x", ("free", 0, 0)),
        # 4: Google's twin
        ("google/gemini-2.5-flash", "vertex", ("builtin", 0.3, 2.5)),
        ("google/gemini-2.5-pro", "vertex", ("listed", 9, 90)),
        # 6: families
        ("nvidia/nemotron-3-ultra-550b-a55b", "nvidia", ("family", 0.5, 2.5)),
        ("claude-opus-4-6-20260115", "anthropic", ("family", 5, 25)),
        ("claude-opus-4-6@20260115", "vertex", ("family", 5, 25)),
        # 8: another source's price, as an assumption
        ("routed", "nous", ("assumed", 1, 2)),
        ("routed-gift", "nous", ("assumed", 0, 0)),
        ("two-prices", "elsewhere", ("assumed", 3, 15)),
        # 9: unknown
        ("no-fixed-price", "openrouter", None),
        ("one-provider", "elsewhere", None),
        ("claude-opus-4-50", "anthropic", None),
        ("claude-sonnet-4-9-ultra", "anthropic", None),
        ("gpt-5-turbo-ultra", "openai", None),
        ("anthropic/claude-opus-4-6", "anthropic", None),
        ("gemini", "google", None),
        ("gemini-9-ultra", "google", None),
        ("auto", "openrouter", None),
        ("x", "", None),
        ("", "nous", None),
        (None, None, None),
    ],
)
def test_the_first_step_that_knows_the_id_answers(
    catalog: Catalog,
    model: str | None,
    provider: str | None,
    expected: tuple[str, float, float] | None,
) -> None:
    assert answer(catalog.lookup(model, provider)) == expected


@pytest.mark.parametrize(
    ("model", "provider", "stated"),
    [
        ("acme/model", "x", True),
        ("gift", "x", True),
        ("plan", "x", True),
        ("claude-opus-4-6", "anthropic", True),
        ("some:free", "", True),
        ("google/gemini-2.5-flash", "vertex", True),
        ("nvidia/nemotron-3-ultra-550b-a55b", "nvidia", False),
        ("routed-gift", "nous", False),
        ("routed-gift", "openrouter", True),
        ("no-fixed-price", "openrouter", False),
        ("x", "", False),
        (None, None, False),
    ],
)
def test_only_a_stated_price_is_explicit(
    catalog: Catalog, model: str | None, provider: str | None, stated: bool
) -> None:
    assert catalog.is_explicitly_priced(model, provider) is stated


def test_an_answer_says_who_stated_it_and_under_which_id(catalog: Catalog) -> None:
    own = catalog.lookup("acme/model", "")
    routed = catalog.lookup("routed", "openrouter")
    twin = catalog.lookup("google/gemini-2.5-flash", "")
    assert own is not None
    assert (own.source, own.matched_id) == ("pricing.yaml", "Acme/Model")
    assert routed is not None
    assert routed.source == "openrouter"
    assert twin is not None
    assert (twin.source, twin.matched_id) == ("google, 2026-06-05", "gemini-2.5-flash")


def test_a_missing_cache_rate_is_the_input_rate(catalog: Catalog) -> None:
    price = catalog.lookup("acme/model", "")
    assert price is not None
    assert price.rates == Rates(Decimal(3), Decimal(15), Decimal("0.3"), Decimal(3))


def test_the_users_multipliers_fill_missing_cache_rates_of_every_source(
    home: Path,
) -> None:
    (home / "pricing.yaml").write_text(
        """
        defaults: {cache_read_multiplier: 0.1, cache_write_multiplier: 1.25}
        models:
          tiered: {input: 2, output: 8, tiers: [{min_prompt_tokens: 100, input: 4, output: 9}]}
        """
    )
    catalog = Catalog(home)
    own = catalog.lookup("tiered", "")
    builtin = catalog.lookup("nvidia/nemotron-super-49b", "")
    assert own is not None
    assert builtin is not None
    assert (own.rates.cache_read, own.rates.cache_write) == (Decimal("0.2"), Decimal("2.5"))
    tier = own.tiers[0].rates
    assert (tier.cache_read, tier.cache_write) == (Decimal("0.4"), Decimal("5"))
    assert builtin.rates.cache_read == Decimal("0.01")


@pytest.mark.parametrize(
    ("id", "served"),
    [
        ("fam", True),
        ("fam-20260701", True),
        ("fam-2026-07-01", True),
        ("fam-v2", True),
        ("fam-v1.5", True),
        ("fam@20260701", True),
        ("fam-70b", True),
        ("fam-8x7b", True),
        ("fam-550b-a55b-fp8", True),
        ("fam-preview", True),
        ("fam-preview-09-2025", True),
        ("fam-latest", True),
        ("FAM-Latest", True),
        ("fam-2", False),
        ("fam2", False),
        ("fam-0613", False),
        ("fam-20261301", False),
        ("fam-mini", False),
        ("fam-70b-mini", False),
        ("fam-v", False),
        ("fam.5", False),
        ("family", False),
        ("xfam", False),
        ("fam:thinking", False),
    ],
)
def test_a_family_serves_only_variants_of_the_same_model(home: Path, id: str, served: bool) -> None:
    (home / "pricing.yaml").write_text("families: {Fam: {input: 1, output: 2}}")
    assert answer(Catalog(home).lookup(id, "")) == (("family", 1, 2) if served else None)


def test_the_longest_family_wins_and_the_users_before_the_built_in_one(
    home: Path,
) -> None:
    (home / "pricing.yaml").write_text(
        """
        families:
          fam: {input: 1, output: 1}
          fam-70b: {input: 2, output: 2}
          nvidia/nemotron-3-ultra: {input: 8, output: 8}
        """
    )
    catalog = Catalog(home)
    assert answer(catalog.lookup("fam-70b-v2", "")) == ("family", 2, 2)
    assert answer(catalog.lookup("nvidia/nemotron-3-ultra-550b-a55b", "")) == ("family", 8, 8)


def test_a_routers_family_is_an_assumption_elsewhere(home: Path) -> None:
    (home / "pricing.yaml").write_text(
        "families: {fam: {input: 1, output: 2, _source: openrouter}}"
    )
    catalog = Catalog(home)
    assert answer(catalog.lookup("fam-v2", "openrouter")) == ("family", 1, 2)
    assert answer(catalog.lookup("fam-v2", "nous")) == ("assumed", 1, 2)


def test_a_price_can_change_by_the_day_and_by_the_hour(home: Path, time: StoppedClock) -> None:
    (home / "pricing.yaml").write_text(
        """
        models:
          peak:
            input: 1
            output: 2
            periods:
              - {hours: ["06:00", "10:00"], input: 2, output: 4}
              - {hours: ["22:30", "01:00"], input: 3, output: 6}
          announced:
            input: 1
            output: 2
            periods: [{from: 2026-12-01, input: 5, output: 6}]
          gift-until-autumn:
            input: 0
            output: 0
            periods: [{from: 2026-09-01, input: 5, output: 6}]
          peak-family: {input: 9, output: 9}
        families:
          fam: {input: 1, output: 2, periods: [{from: 2026-12-01, input: 5, output: 6}]}
        """
    )
    catalog = Catalog(home, clock=time.clock)

    def at(id: str, moment: str) -> float:
        price = catalog.lookup(id, "", datetime.fromisoformat(moment))
        assert price is not None
        return float(price.rates.input)

    day = "2026-07-01T"
    clocks = ("05:59", "06:00", "09:59", "10:00", "22:29", "22:30", "00:59", "01:00")
    assert [at("peak", f"{day}{clock}+00:00") for clock in clocks] == [1, 2, 2, 1, 1, 3, 3, 1]
    # 08:30 in Madrid is 06:30 UTC.
    assert at("peak", f"{day}08:30+02:00") == 2
    for id in ("announced", "fam-v2"):
        assert at(id, "2026-11-30T23:59:59+00:00") == 1
        assert at(id, "2026-12-01T00:00:00+00:00") == 5
    # Without a time it is the clock's: noon on 1 July, and 70 days later.
    assert answer(catalog.lookup("gift-until-autumn", "")) == ("free", 0, 0)
    time.advance(70 * 86400)
    assert answer(catalog.lookup("gift-until-autumn", "")) == ("listed", 5, 6)
    assert catalog.free_ids() == []


def test_the_hosts_tariff_is_asked_after_stated_prices_and_before_families(
    home: Path,
) -> None:
    asked = []

    def tariff(model: str, provider: str, fill: object) -> Price | None:
        asked.append((model, provider))
        if model == "unknown-to-host":
            return None
        return Price("tariff", "host", model, Rates(*[Decimal(4)] * 4))

    (home / "pricing.yaml").write_text(LISTED)
    catalog = Catalog(home, tariff=tariff)
    assert answer(catalog.lookup("acme/model", "p")) == ("listed", 3, 15)
    assert answer(catalog.lookup("claude-opus-4-6", "p")) == ("builtin", 5, 25)
    assert asked == []
    assert answer(catalog.lookup("nvidia/nemotron-3-ultra-550b-a55b", "p")) == ("tariff", 4, 4)
    assert answer(catalog.lookup("routed", "nous")) == ("tariff", 4, 4)
    assert answer(catalog.lookup("unknown-to-host", "nous")) is None
    assert asked[-1] == ("unknown-to-host", "nous")
    assert not catalog.is_explicitly_priced("routed", "nous")


def test_every_step_can_be_asked_for_what_it_would_charge(home: Path) -> None:
    (home / "pricing.yaml").write_text(
        """
        models:
          google/gemini-2.5-pro: {input: 9, output: 90}
          gemini-2.5-pro: {input: 7, output: 70, _source: openrouter}
        families: {gemini-2.5-pro: {input: 5, output: 50}}
        """
    )

    def tariff(model: str, provider: str, fill: object) -> Price:
        return Price("tariff", "host", model, Rates(*[Decimal(4)] * 4))

    catalog = Catalog(home, tariff=tariff)
    assert [answer(price) for price in catalog.steps("google/gemini-2.5-pro", "vertex")] == [
        ("listed", 9, 90),
        ("builtin", 1.25, 10),
        ("tariff", 4, 4),
        ("family", 5, 50),
        ("assumed", 7, 70),
    ]


def test_unknown_and_assumed_prices_warn_once_for_each_model_and_provider(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "pricing.yaml").write_text(LISTED)
    catalog = Catalog(home, catalogue=Catalogue(wait=30))
    with caplog.at_level(logging.WARNING, "hermes_telemetry.pricing"):
        for _ in range(3):
            catalog.lookup("nobody-knows", "nous")
            catalog.lookup("nobody-knows", "other")
            catalog.lookup("routed", "nous")
            catalog.lookup("acme/model", "nous")
    assert sorted(record.getMessage() for record in caplog.records) == [
        "model 'nobody-knows' at provider 'nous' has no price that is known:"
        " its calls stay without a cost",
        "model 'nobody-knows' at provider 'other' has no price that is known:"
        " its calls stay without a cost",
        "model 'routed' at provider 'nous' is priced by an entry of source 'openrouter':"
        " an assumption",
    ]


def test_an_estimate_carries_cost_price_and_record(catalog: Catalog) -> None:
    usage = Usage(input=1_000_000, output=100_000)
    known = catalog.estimate_cost(usage, "acme/model", "x")
    # 3 + 1.5
    assert known.cost_usd == 4.5
    assert known.record is not None
    assert known.record["input"] == 3.0
    free = catalog.estimate_cost(usage, "gift", "x")
    assert free.cost_usd == 0.0
    assert free.record is not None
    unknown = catalog.estimate_cost(usage, "nobody-knows", "x")
    assert (unknown.cost_usd, unknown.price, unknown.record) == (None, None, None)
