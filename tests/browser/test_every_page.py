"""All pages alike: on a telephone and a screen, by keyboard, for screen readers, and on paper."""

import io
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from pypdf import PdfReader

from hermes_telemetry.commands.cli import main
from hermes_telemetry_datasette.views.frame import TABS
from support.saved_charts import ANN_MAY, save
from support.web_actors import Web, serving

pytestmark = pytest.mark.browser

Tab = Callable[..., Page]

OURS = dict(TABS) | {"Prune": "/-/telemetry/prune?before=1d"}
CHART = "#g.mark=bar&g.x_column=turn_id&g.x_type=ordinal&g.y_column=cost_usd&g.y_type=quantitative"
QUERIES = {"a query": f"/telemetry/cost_per_turn{CHART}"}
WIDTHS = {"telephone": 375, "screen": 1280}


OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true })"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server on a made-up ledger with its budget, where ann has saved a chart."""
    folder = tmp_path_factory.mktemp("demo")
    ledger = folder / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "900", "--days", "40"]) == 0
    with serving(ledger, configuration=ANN_MAY, folder=folder) as web:
        save(web)
        yield web


def opened(web: Web, open_tab: Tab, path: str, **options: object) -> Page:
    """The page as ann sees it, with its pictures and charts."""
    page = open_tab(str(web.client.base_url), web.cookies("ann"), **options)
    page.goto(path)
    if "#" in path:
        page.locator(".vega-embed canvas").wait_for()
    for picture in page.locator("img").all():
        picture.evaluate("image => { image.loading = 'eager'; return image.decode() }")
    return page


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("path", {**OURS, **QUERIES}.values(), ids={**OURS, **QUERIES})
def test_nothing_sticks_out_and_axe_finds_no_serious_fault(
    web: Web, open_tab: Tab, path: str, width: int
) -> None:
    page = opened(web, open_tab, path, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.lang") == "en"
    page.evaluate(OPEN_ALL)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Without Datasette's own footer, over which axe stumbles on 1.0.
    faults = Axe().run(page, context=".not-footer").response["violations"]
    serious = [
        (fault["id"], [node["html"] for node in fault["nodes"]])
        for fault in faults
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


# Links, fields and buttons that are seen, and all else that can be pressed or scrolled.
OPERABLE = """
() => [...document.querySelectorAll(
  "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
)].filter(element => element.checkVisibility({visibilityProperty: true}) && !element.disabled)
"""
SET_APART = """
element => {
  const style = getComputedStyle(element)
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1
}
"""


@pytest.mark.parametrize("path", OURS.values(), ids=OURS)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    web: Web, open_tab: Tab, path: str
) -> None:
    page = opened(web, open_tab, path)
    operable = f"({OPERABLE})()"
    # Radio buttons of a group are reached by one Tab and the arrows: here there are none.
    count = page.evaluate(f"{operable}.length")
    reached = set()
    for _ in range(count + 5):
        page.keyboard.press("Tab")
        place = page.evaluate(f"{operable}.indexOf(document.activeElement)")
        if place < 0:
            continue
        reached.add(place)
        ours = page.evaluate("document.activeElement.closest('main') !== null")
        if ours:
            assert page.evaluate(f"({SET_APART})(document.activeElement)"), page.evaluate(
                "document.activeElement.outerHTML"
            )
    missed = page.evaluate(
        f"reached => {operable}.filter((_, n) => !reached.includes(n)).map(e => e.outerHTML)",
        sorted(reached),
    )
    assert missed == []


# An A4 sheet within margins of 10 mm, in CSS pixels of 1/96 inch.
SHEET = {"width": 718, "height": 1047}
MARGIN = dict.fromkeys(("top", "right", "bottom", "left"), "10mm")
# A line at the beginning and one at the end of each figure that is seen and has room on a sheet, to
# be found in the printed text. How many those are, and how many have no room.
MARK = """
sheet => {
  const line = words => Object.assign(document.createElement("div"), {textContent: words})
  const seen = [...document.querySelectorAll("figure")].filter(figure => figure.checkVisibility())
  seen.forEach((figure, n) => {
    figure.prepend(line(`the ${n}. begins`))
    figure.append(line(`the ${n}. ends`))
  })
  const tall = seen.map((figure, n) => figure.offsetHeight > sheet ? n : null)
  return [seen.length, tall.filter(n => n !== null)]
}
"""


@pytest.mark.parametrize("tables", ["closed", "open"])
@pytest.mark.parametrize("path", OURS.values(), ids=OURS)
def test_on_paper_no_figure_is_split(web: Web, open_tab: Tab, path: str, tables: str) -> None:
    page = opened(web, open_tab, path, viewport=SHEET)
    page.emulate_media(media="print")
    if tables == "open":
        page.evaluate(OPEN_ALL)
        page.wait_for_load_state("networkidle")  # pictures that were hidden until now
    count, tall = page.evaluate(MARK, SHEET["height"])
    # The long tables are those that a reader opens.
    assert tables == "open" or tall == []
    if path in (OURS["Overview"], OURS["Cost review"]) or (path, tables) == (
        OURS["Budget"],
        "open",
    ):
        assert count > len(tall)
    printed = PdfReader(io.BytesIO(page.pdf(format="A4", margin=MARGIN)))
    sheets = [sheet.extract_text() for sheet in printed.pages]

    def sheet_of(words: str) -> int:
        (found,) = [n for n, text in enumerate(sheets) if words in text]
        return found

    together = [n for n in range(count) if n not in tall]
    split = [n for n in together if sheet_of(f"the {n}. begins") != sheet_of(f"the {n}. ends")]
    assert split == []
    # Neither menus nor what opens a form is printed.
    for words in ("Log out", "Rename or delete"):
        assert words not in "".join(sheets)
