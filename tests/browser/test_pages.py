"""Pages as a reader sees them: in Chromium, with its scripts running."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from hermes_telemetry.commands.cli import main
from support.datasette_site import QUERIES, served

pytestmark = pytest.mark.browser

# More than a hundred pixels in Vega's own colour, #4c78a8: axes and texts are grey.
BARS_ARE_DRAWN = """
() => {
  const canvas = document.querySelector(".vega-embed canvas")
  if (!canvas) return false
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
  let pixels = 0
  for (let i = 0; i < data.length; i += 4)
    pixels += data[i] === 0x4c && data[i + 1] === 0x78 && data[i + 2] === 0xa8
  return pixels > 100
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Datasette on a made-up ledger."""
    ledger = tmp_path_factory.mktemp("demo") / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "500", "--days", "5"]) == 0
    with served(ledger) as client:
        yield str(client.base_url)


@pytest.fixture
def page(open_tab: Callable[..., Page], site: str) -> Page:
    return open_tab(site)


def test_a_query_shows_its_rows_and_draws_its_chart(page: Page) -> None:
    page.goto(f"/telemetry{QUERIES}")
    page.get_by_role("link", name="Cost per turn", exact=True).click()

    turns = page.locator("table.rows-and-columns tbody tr")
    turns.first.wait_for()
    assert turns.count() > 10
    assert turns.first.locator("td").first.inner_text() != ""
    # The chart comes of the link's fragment: nobody has chosen anything here.
    assert "g.y_column=cost_usd" in page.url
    page.wait_for_function(BARS_ARE_DRAWN)
