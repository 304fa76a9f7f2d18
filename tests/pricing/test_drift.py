"""The host's newest tariffs against the local prices."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_telemetry.pricing import Catalog
from hermes_telemetry.pricing.drift import drift_of, write_back

PRICES = """\
models:
  m: {input: 2, output: 8}   # ours
  gift: {input: 0, output: 0}
  plan: {_subscription: true}
  routed: {input: 1, output: 2, _source: openrouter}
"""


def snapshot(model: str, input: float, output: float, **more: Any) -> dict[str, Any]:
    return {
        "model": model,
        "provider": "nous",
        "input_cost_per_million": input,
        "output_cost_per_million": output,
        "cache_read_cost_per_million": None,
        "cache_write_cost_per_million": None,
        "request_cost": None,
        "pricing_version": None,
        "captured_at": "2026-07-01T12:00:00.000000+00:00",
        **more,
    }


@pytest.mark.parametrize(
    ("model", "input", "output", "verdict", "change"),
    [
        ("m", 2, 8, "same", 0),
        ("m", 2.02, 8, "same", 0.01),
        ("m", 2.03, 8, "drift", 0.015),
        ("m", 2, 4, "drift", 0.5),
        ("m", 0, 8, "drift", None),
        ("gift", 0, 0, "same", 0),
        ("gift", 0, 1e-6, "drift", None),
        ("plan", 3, 15, "subscription", None),
        ("routed", 1, 2, "no local price", None),
        ("unknown", 1, 2, "no local price", None),
        ("gpt-5", 1.25, 10, "same", 0),
    ],
)
def test_a_difference_above_one_per_cent_is_drift(
    home: Path, model: str, input: float, output: float, verdict: str, change: float | None
) -> None:
    (home / "pricing.yaml").write_text(PRICES)
    drift = drift_of(snapshot(model, input, output), Catalog(home))
    assert drift.verdict == verdict
    assert drift.change == (None if change is None else pytest.approx(change))
    assert drift.tariff == (input, output)


@pytest.mark.parametrize(
    ("captured", "model", "local"),
    [
        ("2026-07-01T00:59:59", "day", (2, 8)),
        ("2026-07-01T01:00:00", "day", (2, 8)),
        ("2026-07-01T12:00:00", "night", (2, 8)),
        ("2026-07-01T23:00:00", "night", (2, 8)),
        # Dearer from the second on, in its hours again twice as much.
        ("2026-07-01T23:59:59", "soon", (1, 4)),
        ("2026-07-02T00:00:00", "soon", (6, 8)),
    ],
)
def test_a_price_with_hours_is_compared_at_the_dearest_of_that_day(
    home: Path, captured: str, model: str, local: tuple[float, float]
) -> None:
    (home / "pricing.yaml").write_text(
        """
        models:
          day: {input: 1, output: 4, periods: [{hours: ["01:00", "04:00"], input: 2, output: 8}]}
          night: {input: 2, output: 8, periods: [{hours: ["22:00", "06:00"], input: 1, output: 4}]}
          soon:
            input: 1
            output: 4
            periods:
              - {from: 2026-07-02, input: 3, output: 4}
              - {from: 2026-07-02, hours: ["06:00", "08:00"], input: 6, output: 8}
        """
    )
    drift = drift_of(snapshot(model, *local, captured_at=f"{captured}+00:00"), Catalog(home))
    assert (drift.verdict, drift.local, drift.by_hour) == ("same", local, True)


def test_writing_back_takes_the_newest_and_keeps_what_is_not_its_own(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text(
        PRICES + "  Two: {input: 1, output: 1, providers: {p: {input: 5, output: 6}}}\n"
    )
    written = write_back(
        home,
        [
            snapshot("m", 9, 9, captured_at="2026-07-02T00:00:00.000000+00:00", provider="b"),
            snapshot("m", 7, 7),
            snapshot("two", 3, 4, cache_read_cost_per_million=0.5, request_cost=0.01),
        ],
        {("m", "nous"), ("two", "nous")},
    )
    assert written == ["m", "two"]
    assert path.read_text() == PRICES.replace(
        "{input: 2, output: 8}", "{input: 9, output: 9, _source: core-snapshot}"
    ) + (
        "  Two: {input: 1, output: 1, providers: {p: {input: 5, output: 6},"
        " nous: {input: 3, output: 4, cache_read: 0.5, request: 0.01,"
        " _source: core-snapshot}}}\n"
    )
    price = Catalog(home).lookup("m", "anywhere")
    assert price is not None
    assert (price.basis, price.source, float(price.rates.input)) == ("listed", "core-snapshot", 9)


def test_a_route_that_a_plan_includes_is_a_subscription_and_no_price(home: Path) -> None:
    included = snapshot("gpt-5", 0, 0, provider="openai-codex", pricing_version="included-route")
    assert drift_of(included, Catalog(home)).verdict == "subscription"


def test_only_the_price_of_the_provider_that_drifts_is_rewritten(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text(
        "models:\n"
        "  A: {input: 1, output: 2, reasoning: 9, providers: {nous: {input: 3, output: 4}}}\n"
    )
    rows = [snapshot("A", 5, 6), snapshot("A", 1, 2, provider="other")]
    assert write_back(home, rows, {("A", "nous")}) == ["A"]
    assert path.read_text() == (
        "models:\n"
        "  A: {input: 1, output: 2, reasoning: 9,"
        " providers: {nous: {input: 5, output: 6, _source: core-snapshot}}}\n"
    )


def test_what_the_host_does_not_state_stays_in_a_plain_entry(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text(
        "models:\n"
        "  m: {input: 1, output: 2, cache_read: 0.1, cache_write: 0.3, reasoning: 9,"
        " tiers: [{min_prompt_tokens: 100, input: 2, output: 4}],"
        ' periods: [{from: 2026-01-01, hours: ["01:00", "04:00"], input: 1, output: 1}]}\n'
    )
    # A cache rate of 0 beside a price is not stated either.
    write_back(
        home,
        [snapshot("m", 5, 6, cache_read_cost_per_million=0.0, cache_write_cost_per_million=0.7)],
        {("m", "nous")},
    )
    assert path.read_text() == (
        "models:\n"
        "  m: {input: 5, output: 6, cache_read: 0.1, cache_write: 0.7, reasoning: 9,"
        " tiers: [{min_prompt_tokens: 100, input: 2, output: 4}],"
        ' periods: [{from: 2026-01-01, hours: ["01:00", "04:00"], input: 1, output: 1}],'
        " _source: core-snapshot}\n"
    )


def test_a_price_that_serves_others_too_is_overruled_at_the_one_provider(home: Path) -> None:
    path = home / "pricing.yaml"
    path.write_text(
        "models:\n"
        "  routed: {input: 1, output: 2, _source: openrouter}\n"
        "  gpt-5-mini: {input: 1, output: 2}\n"
        "_meta: {auto_models: [other, routed]}\n"
    )
    rows = [
        snapshot("gpt-5", 2, 20, provider="azure"),
        snapshot("gpt-5-mini", 2, 20, provider="azure"),
        snapshot("routed", 3, 4, provider="openrouter"),
    ]
    write_back(home, rows, {("gpt-5", "azure"), ("gpt-5-mini", "azure"), ("routed", "openrouter")})
    catalog = Catalog(home)
    found = {
        (model, provider): price and (price.basis, float(price.rates.input))
        for model, provider in (
            ("gpt-5", "azure"),
            ("gpt-5", "openai"),
            ("gpt-5-mini", "azure"),
            ("gpt-5-mini", "openai"),
            ("routed", "openrouter"),
            ("routed", "openrouter-2"),
        )
        for price in [catalog.lookup(model, provider)]
    }
    # The vendor's list price of gpt-5 is 1.25.
    assert found == {
        ("gpt-5", "azure"): ("listed", 2),
        ("gpt-5", "openai"): ("builtin", 1.25),
        ("gpt-5-mini", "azure"): ("listed", 2),
        ("gpt-5-mini", "openai"): ("listed", 1),
        ("routed", "openrouter"): ("listed", 3),
        ("routed", "openrouter-2"): ("listed", 1),
    }
    # Else a refresh would take the entry back.
    assert yaml.safe_load(path.read_text())["_meta"]["auto_models"] == ["other"]
