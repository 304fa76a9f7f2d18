"""The cost review of a period that goes on or begins within a day: what it is compared with."""

from collections.abc import Callable
from pathlib import Path

from support.cost_review import PATH, figure
from support.datasette_site import Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]


def test_a_month_is_compared_with_as_much_of_the_one_before_and_drawn_beside_all_of_it(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # It is noon of 22 July.
    july.call("s", 1.0, "2026-06-21T23:00")
    july.call("s", 2.0, "2026-06-22T11:59:59")
    july.call("s", 64.0, "2026-06-22T12:00:00")
    july.call("s", 128.0, "2026-06-28T09:00")
    july.call("s", 4.5, "2026-07-22T09:00")
    site = sites(ledger)
    said = site.get(f"{PATH}.json").json()
    assert (said["total_usd"], said["before"]["total_usd"]) == (4.5, 3.0)
    assert said["before"]["window_end"] == "2026-06-22T12:00:00.000000+00:00"
    # 4.5 - 3, and that of 3.
    assert (said["change_usd"], said["change_pct"]) == (1.5, 50.0)
    compared = "+50 % (+$1.50) against 1-22 June 2026 until 12:00 (recorded from 21 June)"
    assert f"$4.50 {compared}" in site.page(PATH).text
    (change,) = figure(site, "changes", "")["rows"]
    assert change["change_usd"] == 1.5
    line = [row["usd"] for row in figure(site, "running_total", "")["rows"]]
    # The month before goes on to its end: 1 + 2 + 64 + 128.
    assert max(line) == 195.0


def test_seven_days_are_drawn_beside_whole_days(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # Today, the 22nd, began seven days after the 15th, of which noon is compared.
    july.call("s", 2.0, "2026-07-15T09:00")
    july.call("s", 64.0, "2026-07-15T13:00")
    july.call("s", 3.0, "2026-07-22T09:00")
    site = sites(ledger)
    period = "since=2026-07-16"
    said = site.get(f"{PATH}.json?{period}").json()
    assert (said["total_usd"], said["before"]["total_usd"]) == (3.0, 2.0)
    running = figure(site, "running_total", period)
    assert running["sentence"] == "9-15 July 2026 until 12:00 (recorded from 15 July) cost $2.00."
    assert [row["usd"] for row in running["rows"] if row["line"] == "before"][-1] == 66.0


def test_a_period_that_begins_within_a_day_has_no_line_of_other_days(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # The 24 hours before noon of the 22nd, and those before them.
    july.call("s", 8.0, "2026-07-20T11:59:59")
    july.call("s", 2.0, "2026-07-20T12:00:00")
    july.call("s", 2.0, "2026-07-21T11:59:59")
    july.call("s", 5.0, "2026-07-21T12:00:00")
    site = sites(ledger)
    said = site.get(f"{PATH}.json?since=24h").json()
    assert (said["total_usd"], said["before"]["total_usd"]) == (5.0, 4.0)
    running = figure(site, "running_total", "since=24h")
    before = "20 July 2026 12:00 - 21 July 2026 12:00"
    assert running["sentence"] == f"{before} cost $4.00."
    assert {row["line"] for row in running["rows"]} == {"this"}
    assert f"+25 % (+$1.00) against {before}" in site.page(f"{PATH}?since=24h").text
