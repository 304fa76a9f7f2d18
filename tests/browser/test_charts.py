"""The cost review in Chromium, on a telephone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from hermes_telemetry.commands.cli import main
from support.datasette_site import served

pytestmark = pytest.mark.browser

Tab = Callable[..., Page]

NAMES = """
cells => cells.filter(cell => cell.textContent.trim().length <= 12)
              .map(cell => cell.querySelector("bdi").getClientRects().length)
"""


def test_names_in_tables_stay_in_one_piece(tmp_path: Path, open_tab: Tab) -> None:
    ledger = tmp_path / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "500", "--days", "3"]) == 0
    with served(ledger) as client:
        page = open_tab(str(client.base_url), viewport={"width": 375, "height": 800})
        page.goto("/-/telemetry/charts?since=7d")  # a month may just have begun
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        lines = page.locator(".tm-figure td:first-child").evaluate_all(NAMES)
        page.wait_for_load_state("networkidle")
    # Ids of cron jobs have 12 signs, and stand beside six columns of numbers.
    assert len(lines) > 10
    assert set(lines) == {1}
