"""A headless Chromium, and tabs in which nothing may fail or ask another host."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

# Nothing of the browser's own goes to the network, and root may run it.
SWITCHES = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]


@pytest.fixture(scope="module")  # its loop would be in the way of other modules'
def browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def open_tab(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an empty tab on a site: (its address, cookies by name, Playwright's own options).

    At the end nothing in any tab has failed or asked another host.
    """
    with ExitStack() as stack:

        def open(site: str, cookies: dict[str, str] | None = None, **options: Any) -> Page:
            return stack.enter_context(_tab(browser, site, cookies or {}, options))

        yield open


@contextmanager
def _tab(
    browser: Browser, site: str, cookies: dict[str, str], options: dict[str, Any]
) -> Iterator[Page]:
    complaints: list[str] = []
    addresses: list[str] = []
    context = browser.new_context(base_url=site, **options)
    context.add_cookies(
        [{"name": name, "value": value, "url": site} for name, value in cookies.items()]
    )
    page = context.new_page()
    page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: addresses.append(request.url))
    yield page
    context.close()
    assert complaints == []
    hosts = {urlsplit(address).netloc for address in addresses if address.startswith("http")}
    assert hosts <= {urlsplit(site).netloc}
