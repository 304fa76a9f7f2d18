"""The host's newest tariffs against the local prices."""

from pathlib import Path
from typing import Any

import pytest

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
    )
    assert written == ["m", "two"]
    assert path.read_text() == PRICES.replace(
        "{input: 2, output: 8}", "{input: 9, output: 9, _source: core-snapshot}"
    ) + (
        "  Two: {input: 3, output: 4, cache_read: 0.5, request: 0.01,"
        " providers: {p: {input: 5, output: 6}}, _source: core-snapshot}\n"
    )
    price = Catalog(home).lookup("m", "anywhere")
    assert price is not None
    assert (price.basis, price.source, float(price.rates.input)) == ("listed", "core-snapshot", 9)
