"""A cost that is infinite, as a file of another build may hold it, is one that nobody knows."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.datasette_site import Site
from support.ledger import HandMadeLedger
from support.pages import strict_json

Sites = Callable[..., Site]

JULY = "since=2026-07-01&until=2026-07-31"


@pytest.fixture
def site(sites: Sites, ledger: Path, stop_at: Callable[[str], None]) -> Site:
    """Of three calls on 2 July 2026 model a cost 0.5 and 0.25; that of model b is infinite."""
    stop_at("2026-07-02T20:00:00+00:00")
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 0.5, "2026-07-02T12:00:00", model="a")
        made.call("t", 0.25, "2026-07-02T13:00:00", model="a")
        made.call("u", float("inf"), "2026-07-02T14:00:00", model="b")
    ledger.with_name("budget.yaml").write_text("budgets: {global: {daily_usd: 10}}\n")
    return sites(ledger)


def said(site: Site, address: str) -> dict:
    """JSON by the letter, in which nothing is infinite."""
    return strict_json(site.get(address).text)


def test_the_overview_gives_what_is_known_as_a_lower_bound(site: Site) -> None:
    # 0.5 + 0.25, of three calls one of which has no price.
    assert "≥ $0.75" in site.page(f"/-/telemetry?{JULY}").text
    told = said(site, f"/-/telemetry.json?{JULY}")
    assert told["total"] == {"cost_usd": 0.75, "calls": 3, "unpriced_calls": 1}
    assert [model["cost_usd"] for model in told["models"]] == [0.75, None]
    assert told["today"]["cost_usd"] is None


def test_the_cost_review_does_too(site: Site) -> None:
    page = site.page(f"/-/telemetry/charts?{JULY}").text
    assert "Spend by day and model: ≥ $0.75" in page
    # Of three sessions the most expensive whose cost is known.
    assert "the most expensive day was 2 July with ≥ $0.75" in page
    assert "The most expensive of 3 sessions cost $0.50" in page
    told = said(site, f"/-/telemetry/charts.json?{JULY}")
    assert (told["total_usd"], told["unpriced_calls"]) == (0.75, 1)
    assert site.get(f"/-/telemetry/charts/review.html?{JULY}").text.count("<img") > 2


def test_a_budget_that_holds_one_is_over_and_its_amount_unknown(site: Site) -> None:
    page = site.get("/-/telemetry/budget").text
    assert "nan" not in page
    assert "– of $10.00 spent" in page
    day = said(site, "/-/telemetry/budget.json")["budgets"][0]
    assert (day["spent_usd"], day["verdict"]) == (None, "hard")
    assert said(site, "/-/telemetry/forecast.json?window=daily")["spent_usd"] is None
