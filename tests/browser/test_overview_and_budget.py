"""What is particular to the overview and the budget page in Chromium."""

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from hermes_telemetry.commands.cli import main
from support.datasette_site import served

pytestmark = pytest.mark.browser

Tab = Callable[..., Page]

OVERVIEW, BUDGET = "/-/telemetry", "/-/telemetry/budget"
LIMITS = {
    "global": {"daily_usd": 1, "monthly_usd": 20},
    # Whom the budget names has a row, whether or not anything ran today.
    "per_cron_job": {"overrides": {"nightly-report": {"daily_usd": 0.1}}},
    "per_profile": {"default": {"monthly_usd": 10}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Datasette on a made-up ledger with limits of every kind."""
    ledger = tmp_path_factory.mktemp("demo") / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "1500", "--days", "40"]) == 0
    ledger.with_name("budget.yaml").write_text(json.dumps({"budgets": LIMITS, "timezone": "UTC"}))
    with served(ledger) as client:
        yield str(client.base_url)


def test_a_bar_leads_to_its_day_by_keyboard(open_tab: Tab, site: str) -> None:
    page = open_tab(site)
    page.goto(f"{OVERVIEW}?since=all")
    bar = page.locator(".tm-bars a").first
    day = bar.get_attribute("aria-label") or ""
    bar.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**since=*until=*")
    assert day.partition(":")[0].split(" ", 1)[1] in page.locator(".tm-about").inner_text()


def test_the_picture_of_a_row_comes_when_it_is_opened(open_tab: Tab, site: str) -> None:
    page = open_tab(site)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(BUDGET)
    page.wait_for_load_state("networkidle")
    assert not any("chart.svg" in url for url in asked)
    row = page.locator("tbody", has_text="Cron job").first
    row.locator("summary").click()
    picture = row.locator("img")
    picture.scroll_into_view_if_needed()
    page.wait_for_function("image => image.naturalWidth > 0", arg=picture.element_handle())
    assert sum("chart.svg" in url for url in asked) == 1
