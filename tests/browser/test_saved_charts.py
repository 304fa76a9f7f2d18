"""A chart is saved on its query's page, found in the cost review after a restart, and changed."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from hermes_telemetry.commands.cli import main
from support.datasette_site import KEEPS_QUERIES
from support.saved_charts import ANN_MAY, REVIEW, own_query
from support.web_actors import Web, serving

pytestmark = pytest.mark.browser

Tab = Callable[..., Page]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a made-up ledger that ends now."""
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", str(folder / "telemetry.db"), "--calls", "500", "--days", "5"]) == 0
    return folder


@pytest.fixture
def ledger(demo: Path, tmp_path: Path) -> Path:
    """A copy of it, without saved charts."""
    return Path(shutil.copytree(demo, tmp_path / "ledger")) / "telemetry.db"


@contextmanager
def served(ledger: Path) -> Iterator[Web]:
    with serving(ledger, configuration=ANN_MAY, folder=ledger.parent.parent) as web:
        yield web


@contextmanager
def tab_of(web: Web, open_tab: Tab, actor: str | None = "ann") -> Iterator[Page]:
    """A tab that is closed before its server ends: pictures may still be on their way."""
    page = open_tab(str(web.client.base_url), web.cookies(actor))
    yield page
    page.close()


def open_query(page: Page, title: str) -> None:
    """From the home page to a query by its links."""
    page.goto("/")
    page.get_by_role("link", name="telemetry", exact=True).first.click()
    query = page.get_by_role("link", name=title, exact=True)
    if KEEPS_QUERIES and not query.count():
        # 1.0 shows the first few queries of a database on its page, the others on one of their own.
        page.locator("a[href$='/telemetry/-/queries']").first.click()
    query.first.click()
    page.locator(".vega-embed").wait_for()


def change(page: Page, title: str) -> Locator:
    """The part of the review in which the chart of that title is renamed or deleted, opened."""
    part = page.locator("details.tm-change", has_text=f"Rename or delete {title}")
    part.locator("summary").click()
    return part


def test_from_the_home_page_to_a_saved_chart_and_back(ledger: Path, open_tab: Tab) -> None:
    with served(ledger) as web, tab_of(web, open_tab) as page:
        open_query(page, "Cost per turn")
        form = page.locator("form", has=page.get_by_role("button", name="Save this chart"))
        expect(form.get_by_label("Title")).to_have_value("Cost per turn")
        # What is drawn when the button is pressed is what is saved.
        page.get_by_label("Scatter").check()
        page.wait_for_url("**g.mark=circle**")
        form.get_by_label("Title").fill("Dear turns")
        form.get_by_role("button").click()
        expect(form.get_by_role("status")).to_have_text("Saved. It is in the cost review.")
        form.get_by_role("link", name="cost review").click()
        expect(page.locator("#tm-saved figcaption")).to_contain_text("Dear turns")

    with served(ledger) as web, tab_of(web, open_tab) as page:
        page.goto(REVIEW)
        page.get_by_role("link", name="30 days").click()
        figure = page.locator("#tm-saved figure")
        expect(figure.locator("figcaption")).to_contain_text("Dear turns")
        picture = figure.locator("img")
        picture.scroll_into_view_if_needed()
        page.wait_for_function(
            "img => img.complete && img.naturalWidth > 0", arg=picture.element_handle()
        )
        figure.get_by_role("link", name="Explore: Dear turns").click()
        page.locator(".vega-embed").wait_for()
        assert page.get_by_label("Scatter").is_checked()
        page.go_back()

        part = change(page, "Dear turns")
        part.get_by_label("Title").fill("The dearest turns")
        part.get_by_role("button", name="Rename").click()
        expect(page.get_by_text("Renamed: The dearest turns")).to_be_visible()
        expect(figure.locator("figcaption")).to_contain_text("The dearest turns")

        change(page, "The dearest turns").get_by_role("button", name="Delete this chart").click()
        expect(page.get_by_text("Deleted: The dearest turns")).to_be_visible()
        expect(figure).to_have_count(0)
        # The period that was chosen is still there.
        expect(page.get_by_role("link", name="30 days")).to_have_attribute("aria-current", "true")


def test_the_steps_of_the_documentation_lead_to_a_saved_chart(ledger: Path, open_tab: Tab) -> None:
    """docs/pages.md, "Your own charts": for a query of ours and one of the reader's own."""
    own = own_query(
        "spend_of_models", "select model, sum(cost_usd) as usd from llm_calls group by 1"
    )
    with (
        serving(ledger, configuration=own, folder=ledger.parent.parent) as web,
        tab_of(web, open_tab) as page,
    ):
        # Also after the form has been sent, or from an address that was typed: no fragment.
        page.goto("/telemetry/cost_by_day?since=all")
        save_as(page, "Days")
        expect(page.locator("#tm-how-to-save")).to_have_count(0)
        page.get_by_role("link", name="cost review").click()
        expect(page.locator("#tm-saved figcaption")).to_contain_text("Days")

        page.goto("/telemetry/spend_of_models")
        expect(page.locator("#tm-how-to-save")).to_contain_text("Show charting options")
        page.get_by_role("button", name="Show charting options").click()
        page.get_by_label("Bar").check()
        save_as(page, "Models")
        expect(page.locator("#tm-how-to-save")).to_have_count(0)


def save_as(page: Page, title: str) -> None:
    form = page.locator("form", has=page.get_by_role("button", name="Save this chart"))
    form.get_by_label("Title").fill(title)
    form.get_by_role("button").click()
    expect(form.get_by_role("status")).to_have_text("Saved. It is in the cost review.")


def test_the_keyboard_is_enough(ledger: Path, open_tab: Tab) -> None:
    with served(ledger) as web, tab_of(web, open_tab) as page:
        open_query(page, "Cost per turn")
        reach(page, "document.activeElement.name === 'title'")
        page.keyboard.press("Control+A")
        page.keyboard.type("By hand")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Saved. It is in the")).to_be_visible()
        reach(page, "document.activeElement.textContent === 'cost review'")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{REVIEW}**")

        reach(page, "document.activeElement.textContent.includes('Rename or delete')")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Control+A")
        page.keyboard.type("By hand, again")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Renamed: By hand, again")).to_be_visible()

        reach(page, "document.activeElement.textContent.includes('Rename or delete')")
        page.keyboard.press("Enter")
        reach(page, "document.activeElement.textContent === 'Delete this chart'")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Deleted: By hand, again")).to_be_visible()


def reach(page: Page, condition: str) -> None:
    """Press Tab until what has the focus meets a condition."""
    # What is still loading may move the focus, or close what a key has just opened.
    page.wait_for_load_state("networkidle")
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    pytest.fail(f"Tab does not lead to {condition}")


def test_who_may_not_save_is_offered_nothing(ledger: Path, open_tab: Tab) -> None:
    with served(ledger) as web, tab_of(web, open_tab, None) as page:
        open_query(page, "Cost per turn")
        assert page.get_by_role("button", name="Save this chart").count() == 0
        page.goto(REVIEW)
        expect(page.locator("#tm-saved")).to_contain_text("None yet.")


def test_why_it_is_not_saved_stands_beside_the_button(ledger: Path, browser: Browser) -> None:
    with served(ledger) as web:
        site = str(web.client.base_url)
        # Not open_tab: Chromium itself writes a request that is refused into the console.
        context = browser.new_context(base_url=site)
        context.add_cookies(
            [{"name": n, "value": v, "url": site} for n, v in web.cookies("ann").items()]
        )
        page = context.new_page()
        open_query(page, "Cost per turn")
        page.evaluate("history.replaceState(null, '', '#g.mark=pie')")
        page.get_by_role("button", name="Save this chart").click()
        said = page.get_by_role("status").filter(has_text="not saved")
        expect(said).to_have_text(
            "the chart is not saved: g.mark: 'pie' is none of bar, line, circle"
        )
        context.close()
