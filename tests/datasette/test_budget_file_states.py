"""The budget page in every state of budget.yaml and of the ledger."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from support.budgets import limit_beside
from support.datasette_site import Page, Site, served
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]

PATH = "/-/telemetry/budget"
FORECAST = "/-/telemetry/forecast.json"
NOW = "2026-07-21T12:00:00"


def test_without_a_file_nothing_is_enforced(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    ledger.with_name("budget.yaml").unlink()
    page = sites(ledger).page(PATH)
    assert "Nothing is enforced: there is no budget.yaml." in page.text
    assert f"hermes-telemetry budget set global monthly 100 --db {ledger}" in page.text
    assert "Everyone month $42.00 – no limit" in page.text
    limit_beside(ledger)
    assert "Nothing is enforced: budget.yaml names no limit." in sites(ledger).page(PATH).text


def test_a_faulty_file_is_told_beside_the_limits_in_force(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    limit_beside(ledger, **{"global": {"monthly_usd": 50}})
    site = sites(ledger)
    site.get(PATH)
    limit_beside(ledger, **{"global": {"monthly_usd": -50}})
    time.sleep(1.1)  # the file is looked at once a second
    page = site.page(PATH)
    fault = "budgets.global.monthly_usd is negative: -50"
    assert "budget.yaml cannot be used." in page.text
    assert fault in page.text
    assert "The limits below are those that this server read before" in page.text
    assert "Everyone month $42.00 $50.00" in page.text
    said = site.get(f"{PATH}.json").json()
    assert fault in said["config_error"]
    assert said["budgets"][1]["limit_usd"] == 50.0
    overview = site.page("/-/telemetry").text
    assert "84 % soft" in overview
    assert f"budget.yaml cannot be used. budget.yaml: line 1, column 40: {fault}." in overview
    assert "The limits that this server read before stay in force." in overview
    assert fault in site.get("/-/telemetry.json").json()["config_error"]

    fresh = sites(ledger).page(PATH).text
    assert fault in fresh
    assert "This server uses no limit" in fresh
    overview = sites(ledger).page("/-/telemetry").text
    assert fault in overview
    assert "This server uses no limit" in overview
    assert "Everyone month $42.00 – no limit" in fresh


def test_a_file_that_is_broken_and_mended_is_told_at_the_next_request(
    ledger: Path, anns: HandMadeLedger
) -> None:
    with served(ledger) as client:
        for content, error, limit_usd in (
            ('{"budgets": {"global": {"monthly_usd": 50}}}', None, 50.0),
            ('{"budgets": {"global": {"monthly_usd": ', "did not find expected node content", 50.0),
            ('{"budgets": {"global": {"monthly_usd": 70}}}', None, 70.0),
            ('{"budgets": {"global": {"monthly_usd": "70"}}}', "is not a number", 70.0),
            ("", None, None),
        ):
            ledger.with_name("budget.yaml").write_text(content)
            time.sleep(1.1)  # the file is looked at once a second
            for path in ("/-/telemetry", PATH):
                page = Page(client.get(path).text).text
                said = client.get(f"{path}.json").json()
                assert ("budget.yaml cannot be used." in page) == (error is not None)
                assert said["budgets"][1]["limit_usd"] == limit_usd
                if error is None:
                    assert said["config_error"] is None
                else:
                    assert error in said["config_error"]
                    assert error in page


def test_a_young_ledger_says_what_a_forecast_needs(
    sites: Sites, ledger: Path, stop_at: Callable[[str], None]
) -> None:
    stop_at(NOW)
    limit_beside(ledger, **{"global": {"monthly_usd": 50}})
    with closing(HandMadeLedger(ledger)) as anns:
        # The first day began in its middle: one complete day is left.
        anns.call("s", 2.0, "2026-07-19T09:00")
        anns.call("s", 2.0, "2026-07-20T09:00")
    page = sites(ledger).page(PATH)
    assert "Everyone month $4.00 $50.00" in page.text
    assert "ok 8.0 % – –" in page.text
    assert "forecast needs 3 days, has 1" in page.text


def test_an_empty_ledger_has_a_budget_page(
    sites: Sites, ledger: Path, stop_at: Callable[[str], None]
) -> None:
    stop_at(NOW)
    limit_beside(ledger, **{"global": {"daily_usd": 5}})
    site = sites(ledger)
    page = site.page(PATH)
    assert "Everyone day $0.00 $5.00" in page.text
    assert "forecast needs 3 days, has 0" in page.text
    day, month = site.get(f"{PATH}.json").json()["budgets"]
    assert (day["spent_usd"], day["verdict"], day["projected_usd"]) == (0.0, "ok", None)
    assert month["status"] == "insufficient_history"


def test_unpriced_calls_make_a_lower_bound(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    anns.call("s", None, "2026-07-20T10:00")
    anns.call("s", 1.0, "2026-07-20T11:00", estimated=1)
    limit_beside(ledger, **{"global": {"monthly_usd": 50}})
    page = sites(ledger).page(PATH)
    assert "Everyone month ≥ $43.00 $50.00" in page.text
    assert "1 of its calls are estimated: without them it is $42.00. 1 have no price" in page.text
