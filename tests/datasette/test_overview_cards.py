"""The cards of the overview: today, the period beside the one before it, the budget."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from support.datasette_site import Page, Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]

PATH = "/-/telemetry"


def test_today_is_held_against_the_same_weekday_by_this_time(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # The Wednesdays before cost by noon 1, 2 and 5 USD, and much in the afternoon, which is to
    # come; the Tuesdays between them do not matter.
    july.call("s", 64.0, "2026-06-30T09:00")
    for day, usd in (("2026-07-01", 1.0), ("2026-07-08", 2.0), ("2026-07-15", 5.0)):
        july.call("s", usd, f"{day}T11:59:59")
        july.call("s", 64.0, f"{day}T12:00:01")
    july.call("s", 3.0, "2026-07-22T10:00")
    site = sites(ledger)
    assert (
        "Today $3.00 +50 % (+$1.00) against the median Wednesday by 12:00" in site.page(PATH).text
    )
    today = site.get(f"{PATH}.json").json()["today"]
    assert today == {
        "day": "2026-07-22",
        "cost_usd": 3.0,
        "calls": 1,
        "unpriced_calls": 0,
        "usual_usd": 2.0,
        "usual_days": 3,
    }


def test_one_wednesday_is_no_usual_one(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.daily("2026-07-14", "2026-07-22", 1.0)
    assert "Today $1.00 too few earlier Wednesdays to compare with" in sites(ledger).page(PATH).text


def test_this_month_is_held_against_the_same_days_of_the_last(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.daily("2026-06-01", "2026-06-30", 1.0)
    july.daily("2026-07-01", "2026-07-22", 1.5)
    text = sites(ledger).page(PATH).text
    # 22 days of 1.50 and of 1 USD; 23 to 30 June are not counted.
    assert "This month $33.00 +50 % (+$11.00) against 1-22 June 2026" in text
    # Nine days are to come; of the 14 before all but today's 1.50 are over: 33 + 9 x 1.50 at least.
    assert "Projected, July" in text


def test_a_period_that_goes_on_is_compared_with_as_much_of_the_one_before(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # It is noon: the afternoons of 22 June and of yesterday are compared with nothing yet.
    july.call("s", 2.0, "2026-06-22T11:59:59")
    july.call("s", 64.0, "2026-06-22T12:00:00")
    july.call("s", 4.0, "2026-07-21T11:00")
    july.call("s", 32.0, "2026-07-21T12:01")
    july.call("s", 3.0, "2026-07-22T09:00")
    site = sites(ledger)
    page = site.page(PATH)
    # 4 + 32 + 3 against 2 USD.
    assert "This month $39.00 +1,850 % (+$37.00) against 1-22 June 2026 until 12:00" in page.text
    compared = site.page(page.address_of("+1,850 % (+$37.00) against 1-22 June 2026 until 12:00"))
    assert "1-22 June 2026 until 12:00 $2.00" in compared.text
    today = site.page(f"{PATH}?since=today")
    assert "-25 % (-$1.00) against yesterday until 12:00" in today.text
    # What is over is compared with the whole of what was before it.
    yesterday = site.page(f"{PATH}?since=yesterday&until=yesterday")
    assert "21 July 2026 $36.00 nothing recorded for 20 July 2026" in yesterday.text


def test_today_is_shown_once(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.call("s", 3.0, "2026-07-22T09:00")
    site = sites(ledger)
    for period in ("since=today", "since=2026-07-22&until=2026-07-22"):
        html = site.get(f"{PATH}?{period}").text
        assert html.count('<h2 class="tm-of">Today</h2>') == 1
        assert "Today $3.00 too few earlier Wednesdays to compare with" in Page(html).text
        assert "nothing recorded for yesterday until 12:00" in Page(html).text


def test_on_the_first_of_a_month_today_is_the_month(
    sites: Sites, ledger: Path, stop_at: Callable[[str], None]
) -> None:
    stop_at("2026-07-01T06:00:00")
    ledger.with_name("budget.yaml").write_text("timezone: UTC")
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 2.0, "2026-06-01T05:00")
        made.call("s", 64.0, "2026-06-01T07:00")
        made.call("s", 3.0, "2026-07-01T05:00")
    html = sites(ledger).get(PATH).text
    assert html.count('<h2 class="tm-of">Today</h2>') == 1
    assert "+50 % (+$1.00) against 1 June 2026 until 06:00" in Page(html).text


def test_a_rolling_period_says_when_it_began(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # Seven days of 24 hours before noon of the 22nd, and seven before that.
    for at, usd in (
        ("07-08T11:59:59", 64.0),
        ("07-08T12:00:00", 1.0),
        ("07-15T11:59:59", 1.0),
        ("07-15T12:00:00", 2.0),
        ("07-22T11:00:00", 1.0),
    ):
        july.call("s", usd, f"2026-{at}")
    site = sites(ledger)
    page = site.page(f"{PATH}?since=7d")
    before = "8 July 2026 12:00 - 15 July 2026 12:00"
    assert "15 July 2026 12:00 - 22 July 2026, so far" in page.text
    assert f"$3.00 +50 % (+$1.00) against {before}" in page.text
    assert f"{before} $2.00" in site.page(page.address_of(f"+50 % (+$1.00) against {before}")).text
    said = site.get(f"{PATH}.json?since=7d").json()
    assert (said["since"], said["window_start"], said["window_end"]) == (
        "2026-07-15",
        "2026-07-15T12:00:00.000000+00:00",
        None,
    )
    assert said["before"]["cost_usd"] == 2.0
    # The seven days from the 16th on are other ones.
    days = site.page(f"{PATH}?since=2026-07-16")
    assert "16-22 July 2026, so far" in days.text
    assert "16-22 July 2026 $1.00" in days.text


def test_without_a_price_amounts_are_lower_bounds(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.call("s", 2.0, "2026-07-20T09:00", model="known")
    for _ in range(2):
        july.call("s", None, "2026-07-20T10:00", model="mystery-1")
    site = sites(ledger)
    page = site.page(PATH)
    assert "This month ≥ $2.00" in page.text
    assert "2 calls have no price ( mystery-1 ): totals are lower bounds." in page.text
    assert "hermes-telemetry pricing audit" in page.text
    rows = site.rows(
        page.address_of("Which calls").replace("llm_calls?", "llm_calls.json?_shape=array&")
    )
    assert [row["model"] for row in rows] == ["mystery-1", "mystery-1"]
    said = site.get(f"{PATH}.json").json()
    assert said["total"] == {"cost_usd": 2.0, "calls": 3, "unpriced_calls": 2}
    assert said["unpriced_models"] == [{"model": "mystery-1", "unpriced_calls": 2}]
    unpriced = next(one for one in said["models"] if one["model"] == "mystery-1")
    assert (unpriced["cost_usd"], unpriced["share"]) == (None, None)


def test_the_budget_card_has_a_bar_and_a_word(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.daily("2026-06-01", "2026-07-22", 1.0)
    ledger.with_name("budget.yaml").write_text(
        "budgets: {global: {monthly_usd: 25}}\ntimezone: UTC"
    )
    page = sites(ledger).page(PATH)
    # 22 of 25 USD; at 1 USD a day the 25th is reached at the end of 25 July.
    assert "88 % soft" in page.text
    assert "$22.00 of $25.00 spent, $31.00 expected" in page.text
    assert "breach 26 Jul, p 1.00" in page.text
    assert page.address_of("88 %").startswith("/-/telemetry/budget?")


def test_without_a_limit_nothing_is_enforced(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    assert "no limit nothing is enforced" in sites(ledger).page(PATH).text
