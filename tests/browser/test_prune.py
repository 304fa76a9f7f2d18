"""The prune page in Chromium: by mouse, by keyboard, on a telephone, and from another origin."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from support import failures
from support.four_failures import ANN_MAY, PATH, fill, served_failures
from support.web_actors import Web, may

pytestmark = pytest.mark.browser

Tab = Callable[..., Page]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Path]]:
    with served_failures(tmp_path_factory.mktemp("served"), ANN_MAY) as served:
        yield served


@pytest.fixture
def filled(server: tuple[Web, Path]) -> Path:
    fill(server[1])
    return server[1]


@pytest.fixture
def page(open_tab: Tab, server: tuple[Web, Path]) -> Page:
    """A tab in which ann is logged in."""
    web, _ = server
    return open_tab(str(web.client.base_url), web.cookies("ann"))


def test_what_is_shown_is_deleted(page: Page, filled: Path) -> None:
    page.goto(PATH)
    page.get_by_label("Before").fill("2024-06-01")
    page.get_by_role("button", name="Show what would be deleted").click()
    rows = page.locator("table.tm-table tbody tr")
    rows.first.wait_for()
    assert rows.all_inner_texts() == ["sonnet\tp\t429\t2", "gpt\tp\tnone\t1"]
    assert failures.ids(filled) == [1, 2, 3, 4]
    page.get_by_role("button", name="Delete 3 rows").click()
    page.get_by_role("status").wait_for()
    assert "3 failed attempts were deleted." in page.get_by_role("status").inner_text()
    assert failures.ids(filled) == [4]


def test_the_keyboard_is_enough(page: Page, filled: Path) -> None:
    page.goto(PATH)
    reach(page, "name", "before")
    page.keyboard.type("2024-06-01")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete 3 rows").wait_for()
    reach(page, "class", "tm-danger")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("status").wait_for()
    assert failures.ids(filled) == [4]


def reach(page: Page, attribute: str, value: str) -> None:
    """Press Tab until an element with this attribute has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        script = f"document.activeElement.getAttribute({attribute!r})"
        if page.evaluate(script) == value:
            return
    pytest.fail(f"Tab does not reach {attribute}={value}")


@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_sticks_out_and_no_serious_fault_is_found(
    open_tab: Tab, server: tuple[Web, Path], filled: Path, width: int
) -> None:
    web, _ = server
    size = {"width": width, "height": 800}
    page = open_tab(str(web.client.base_url), web.cookies("ann"), viewport=size)
    for path in (PATH, f"{PATH}?before=2024-06-01&keep_last=1", f"{PATH}?before=2000-01-01"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.documentElement.lang") == "en"
        # Without Datasette's own footer, over which axe stumbles on 1.0.
        faults = Axe().run(page, context=".not-footer").response["violations"]
        serious = [
            (fault["id"], [node["html"] for node in fault["nodes"]])
            for fault in faults
            if fault["impact"] in ("serious", "critical")
        ]
        assert (path, serious) == (path, [])


def test_on_paper_there_are_no_forms_and_menus(page: Page, filled: Path) -> None:
    page.goto(f"{PATH}?before=2024-06-01")
    page.emulate_media(media="print")
    assert page.locator("table.tm-table").is_visible()
    for gone in ("header", "footer", ".tm-tabs", ".tm-form >> nth=0"):
        assert not page.locator(gone).is_visible(), gone


FORGED = """<!doctype html><title>forged</title>
<form method="post" action="{address}"><input name="before" value="0h"></form>
<script>document.forms[0].submit()</script>"""


@contextmanager
def another_origin(html: str) -> Iterator[str]:
    """The address of a page on another port: another origin, but cookies know no ports."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("actor", [None, "ann"])
def test_a_form_of_another_origin_changes_nothing(
    browser: Browser, tmp_path: Path, actor: str | None
) -> None:
    with served_failures(tmp_path, may("telemetry-prune", True)) as (web, path):
        site = str(web.client.base_url)
        context = browser.new_context()
        context.add_cookies(
            [{"name": n, "value": v, "url": site} for n, v in web.cookies(actor).items()]
        )
        with another_origin(FORGED.format(address=site + PATH)) as origin:
            tab = context.new_page()
            with tab.expect_response(lambda answer: answer.url == site + PATH) as answered:
                tab.goto(origin)
        assert answered.value.request.method == "POST"
        assert ("ds_actor" in answered.value.request.all_headers().get("cookie", "")) == bool(actor)
        assert answered.value.status == 403
        context.close()
        assert failures.ids(path) == [1, 2, 3, 4]
