"""The overview: its cards, its picture, its lists, and the same as JSON."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.commands.cli import main
from support import old_ledger
from support.datasette_site import Page, Site
from support.ledger import HandMadeLedger
from support.pages import HOSTILE, assert_harmless, assert_no_markup, pictures

Sites = Callable[..., Site]

PATH = "/-/telemetry"
NOW = "2026-07-22T12:00:00"  # a Wednesday
ZONE = "UTC"


@pytest.fixture
def made(ledger: Path, stop_at: Callable[[str], None]) -> Iterator[HandMadeLedger]:
    """An empty ledger at noon of 22 July, whose days are UTC's."""
    stop_at(NOW)
    ledger.with_name("budget.yaml").write_text(f"timezone: {ZONE}")
    with closing(HandMadeLedger(ledger)) as made:
        yield made


def daily(made: HandMadeLedger, first: str, last: str, usd: float, **columns: Any) -> None:
    """A call at nine on each day."""
    day = date.fromisoformat(first)
    while day <= date.fromisoformat(last):
        made.call("s", usd, f"{day}T09:00:00", **columns)
        day += timedelta(days=1)


def as_json(address: str) -> str:
    """Where the rows of a table's page are had as JSON."""
    return address.replace("?", ".json?_shape=array&")


# --- cards


def test_today_is_held_against_the_same_weekday_by_this_time(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    # The Wednesdays before cost by noon 1, 2 and 5 USD, and much in the afternoon, which is to
    # come; the Tuesdays between them do not matter.
    made.call("s", 64.0, "2026-06-30T09:00")
    for day, usd in (("2026-07-01", 1.0), ("2026-07-08", 2.0), ("2026-07-15", 5.0)):
        made.call("s", usd, f"{day}T11:59:59")
        made.call("s", 64.0, f"{day}T12:00:01")
    made.call("s", 3.0, "2026-07-22T10:00")
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


def test_one_wednesday_is_no_usual_one(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    daily(made, "2026-07-14", "2026-07-22", 1.0)
    assert "Today $1.00 too few earlier Wednesdays to compare with" in sites(ledger).page(PATH).text


def test_this_month_is_held_against_the_same_days_of_the_last(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    daily(made, "2026-06-01", "2026-06-30", 1.0)
    daily(made, "2026-07-01", "2026-07-22", 1.5)
    text = sites(ledger).page(PATH).text
    # 22 days of 1.50 and of 1 USD; 23 to 30 June are not counted.
    assert "This month $33.00 +50 % (+$11.00) against 1-22 June 2026" in text
    # Nine days are to come; of the 14 before all but today's 1.50 are over: 33 + 9 x 1.50 at least.
    assert "Projected, July" in text


def test_without_a_price_amounts_are_lower_bounds(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    made.call("s", 2.0, "2026-07-20T09:00", model="known")
    for _ in range(2):
        made.call("s", None, "2026-07-20T10:00", model="mystery-1")
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
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    daily(made, "2026-06-01", "2026-07-22", 1.0)
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
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    assert "no limit nothing is enforced" in sites(ledger).page(PATH).text


# --- the picture


def test_each_bar_leads_to_its_day(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    daily(made, "2026-06-01", "2026-07-22", 1.0)
    site = sites(ledger)
    html = site.get(PATH).text
    (picture,) = [one for one in pictures(html) if one.get("role") == "group"]
    links = [node for node in picture.iter() if node.tag.endswith("}a")]
    assert len(links) == 22
    days = [node.get("href").partition("?")[2] for node in links]
    assert days[0] == "since=2026-07-01&until=2026-07-01"
    assert links[21].get("aria-label") == "Wednesday 22 July 2026: $1.00"
    # Today is not over: white lines lie on its bar alone.
    hatched = ["url(#tm-hatch)" in "".join(n.get("fill", "") for n in a.iter()) for a in links]
    assert hatched == [False] * 21 + [True]
    words = "".join(links[21].itertext())
    assert words.startswith("Wednesday 22 July 2026: $1.00, so far")
    assert "Today $1.00" in site.page(links[21].get("href")).text


def test_five_models_have_a_colour_and_the_rest_share_one(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    for number in range(8):
        made.call("s", 2.0**-number, "2026-07-20T09:00", model=f"m{number}")
    site = sites(ledger)
    said = site.get(f"{PATH}.json").json()
    assert [one["model"] for one in said["models"]] == ["m0", "m1", "m2", "m3", "m4"]
    # 1/32 + 1/64 + 1/128
    assert said["other_models"] == {
        "models": 3,
        "cost_usd": 0.0546875,
        "calls": 3,
        "unpriced_calls": 0,
    }
    bar = next(bar for bar in said["spend"] if bar["since"] == "2026-07-20")
    assert bar["models_usd"] == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert bar["others_usd"] == 0.0546875
    (picture,) = [one for one in pictures(site.get(PATH).text) if one.get("role") == "group"]
    fills = [node.get("fill") for node in picture.iter()]
    for colour in ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#767d8a"):
        assert fills.count(colour) == 1
    assert "3 others" in site.page(PATH).text


def test_dear_days_and_changed_prices_are_marked(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    daily(made, "2026-06-15", "2026-07-22", 1.0)
    made.call("s", 7.0, "2026-07-10T10:00")
    made.tariff(2.0, 4.0, "2026-06-01T00:00")
    made.tariff(2.0, 4.0, "2026-07-05T00:00")  # noted again, and the same
    made.tariff(3.0, 4.0, "2026-07-12T08:00")
    site = sites(ledger)
    (picture,) = [one for one in pictures(site.get(PATH).text) if one.get("role") == "group"]
    words = {
        node.get("aria-label").partition(":")[0]: "".join(node.itertext())
        for node in picture.iter()
        if node.tag.endswith("}a")
    }
    assert [day for day, said in words.items() if "▲" in said] == ["Friday 10 July 2026"]
    assert "▲ $7.00 above the median $1.00" in words["Friday 10 July 2026"]
    assert [day for day, said in words.items() if "┊" in said] == ["Sunday 12 July 2026"]
    assert "┊ the price of m changed by +50 %" in words["Sunday 12 July 2026"]
    assert "The price of m changed by +50 %, 12 Jul 08:00:00" in site.page(PATH).text


def test_the_period_before_stands_behind_day_for_day(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    made.call("s", 4.0, "2026-07-13T09:00")
    made.call("s", 2.0, "2026-07-20T09:00")
    bars = sites(ledger).get(f"{PATH}.json?since=2026-07-16&until=2026-07-22").json()["spend"]
    # Seven days before are 9 to 15 July: the 13th is the fifth of them, and the 20th of these.
    assert [bar["before_usd"] for bar in bars] == [0, 0, 0, 0, 4.0, 0, 0]
    assert [bar["cost_usd"] for bar in bars] == [0, 0, 0, 0, 2.0, 0, 0]


def test_long_periods_have_longer_steps(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    daily(made, "2026-01-01", "2026-07-22", 1.0)
    said = sites(ledger).get(f"{PATH}.json?since=2026-01-01").json()
    assert said["step"] == "week"
    # Weeks begin on Monday, but this period on a Thursday; its last one is not over.
    assert (said["spend"][0]["since"], said["spend"][0]["until"]) == ("2026-01-01", "2026-01-04")
    assert said["spend"][0]["cost_usd"] == 4.0
    assert (said["spend"][-1]["since"], said["spend"][-1]["until"]) == ("2026-07-20", "2026-07-22")
    assert sum(bar["cost_usd"] for bar in said["spend"]) == said["total"]["cost_usd"] == 203.0


# --- lists


def test_models_change_is_of_the_same_model(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    made.call("s", 1.0, "2026-06-10T09:00", model="a")
    made.call("s", 3.0, "2026-07-10T09:00", model="a", provider="one")
    made.call("s", 1.0, "2026-07-10T09:00", model="a", provider="two")
    made.call("s", 4.0, "2026-07-11T09:00", model="b")
    text = sites(ledger).page(PATH).text
    assert "a $4.00 50 % +300 % (+$3.00)" in text
    assert "b $4.00 50 % +$4.00" in text


def test_cron_jobs_sessions_and_failures_lead_to_their_rows(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    made.run("job", "2026-07-20T03:00", cron_job_id="0123456789ab", platform="cron")
    made.call("job", 1.0, "2026-07-20T03:01")
    made.edge("child", "job", at="2026-07-20T03:02")
    made.call("child", 0.5, "2026-07-20T03:03")
    for second, session in enumerate(("job", "job", "child")):
        made.failure(session, f"2026-07-20T03:04:0{second}", duration_ms=60_000)
    made.failure("job", "2026-07-20T03:05", status_code=None, duration_ms=None)
    site = sites(ledger)
    page = site.page(PATH)
    # Own 1, delegated 0.50, of one run.
    assert "0123456789ab $1.00 $0.50 $1.50 $1.50" in page.text
    assert "job $1.00 1 20 Jul 03:00:00 cron" in page.text
    # Three attempts of two sessions, a minute each; one that nothing answered.
    assert "429 3 2 3" in page.text
    assert "no status 1 1 –" in page.text
    links = dict(page.links)
    assert "cron_job_id=0123456789ab" in links["$1.50"]
    for words in ("$1.50", "$1.00", "3"):
        assert site.get(links[words].partition("#")[0])
    rows = site.rows(as_json(links["3"]))
    assert [row["status_code"] for row in rows] == [429] * 3


def test_what_to_look_at(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    made.free("gift", "p", "2026-06-01T00:00")
    made.flip("gift", "p", "2026-07-10T09:00", 0.25, "s")
    made.call("s", 0.25, "2026-07-10T09:00", model="gift")
    made.call("s", 0.5, "2026-07-11T09:00", model="gift")
    made.edge("child", "s", at="2026-07-11T09:00")
    for second in range(5):
        made.failure("s", f"2026-07-12T10:00:0{second}", model="stormy")
    amounts = {"spent_usd": 5.0, "limit_usd": 5.0, "scope_id": "ann", "period_key": "2026-07"}
    made.alert("sender", "hard", "2026-07-12T10:00", window="monthly", **amounts)
    text = sites(ledger).page(PATH).text
    assert "gift was free and now costs: $0.75 for 2 calls since 10 Jul 09:00:00" in text
    assert "A retry storm of 5 failed attempts at stormy , 12 Jul 10:00:00" in text
    # The parent has no run either.
    assert "Of 1 delegations: 1 without a turn, 1 under a session that is not" in text
    assert "Sender ann reached the limit: $5.00 of $5.00 a month, 12 Jul 10:00:00" in text
    # None of it but the delegations, which have no window, happened in June.
    june = sites(ledger).page(f"{PATH}?since=2026-06-01&until=2026-06-30").text
    assert "was free" not in june
    assert "storm" not in june
    assert "Sender ann" not in june


def test_how_far_to_trust_it(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    made.call("s", 1.0, "2026-07-20T09:00", estimated=1)
    made.call("s", 1.0, "2026-07-20T09:00", provider_assumed=1)
    made.call("s", None, "2026-07-20T09:00")
    made.call("s", 1.0, "2026-07-20T09:00", moa_preset="deep")
    site = sites(ledger)
    text = site.page(PATH).text
    assert "25 % estimated" in text
    assert "25 % provider-assumed" in text
    assert "1 unpriced" in text
    assert "reconcile 1" in text  # the session has no run
    assert "1 of presets: lower bounds" in text
    assert site.get(f"{PATH}.json").json()["trust"] == {
        "calls": 4,
        "estimated_calls": 1,
        "assumed_calls": 1,
        "unpriced_calls": 1,
        "unreconciled_sessions": 1,
        "preset_calls": 1,
    }


def test_a_profile_is_looked_at_alone(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    made.run("w", "2026-07-20T09:00", profile="work")
    made.call("w", 2.0, "2026-07-22T09:00")
    made.call("other", 4.0, "2026-07-22T09:00")
    text = sites(ledger).page(f"{PATH}?profile=work").text
    assert "Today $2.00" in text
    assert "This month $2.00" in text


# --- JSON, and files of every kind

TYPES = {
    "ok": bool,
    "database": str,
    "zone": str,
    "since": str,
    "until": str,
    "profile": type(None),
    "data_to": str,
    "total": dict,
    "before": dict,
    "step": str,
    "spend": list,
    "models": list,
    "other_models": type(None),
    "unpriced_models": list,
    "today": dict,
    "budgets": list,
    "sessions": list,
    "anomalies": list,
    "cron_jobs": list,
    "failed_attempts": list,
    "look_at": dict,
    "trust": dict,
}


def test_the_json_has_its_names_and_kinds(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    made.call("s", 2.0, "2026-07-20T09:00")
    said = sites(ledger).get(f"{PATH}.json").json()
    assert {name: type(value) for name, value in said.items()} == TYPES
    assert said["before"] == {
        "since": "2026-06-01",
        "until": "2026-06-22",
        "cost_usd": 0.0,
        "calls": 0,
        "unpriced_calls": 0,
    }
    assert list(said["spend"][0]) == [
        *("since", "until", "cost_usd", "calls", "unpriced_calls"),
        *("models_usd", "others_usd", "before_usd"),
    ]
    assert [(each["window"], each["spent_usd"]) for each in said["budgets"]] == [
        ("daily", 0.0),
        ("monthly", 2.0),
    ]


def test_an_empty_ledger_says_what_brings_something(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    site = sites(ledger)
    text = site.page(PATH).text
    assert f"hermes-telemetry doctor --db {ledger} says what is missing." in text
    assert "No call was recorded in this period." in text
    assert "forecast needs 3 days, has 0" in text
    assert "Nothing stands out in this period." in text
    said = site.get(f"{PATH}.json").json()
    assert said["total"] == {"cost_usd": 0.0, "calls": 0, "unpriced_calls": 0}
    assert (said["models"], said["sessions"], said["data_to"]) == ([], [], None)
    assert said["today"]["usual_usd"] is None
    everything = site.get(f"{PATH}.json?since=all").json()
    assert (everything["since"], everything["before"]) == (None, None)


def test_a_period_that_is_none_is_refused(sites: Sites, ledger: Path) -> None:
    said = sites(ledger).get(f"{PATH}.json?since=soon", status=400).json()
    assert "since: 'soon' is neither a date" in said["error"]


def test_an_older_file_shows_what_it_can(sites: Sites, tmp_path: Path) -> None:
    old = old_ledger.build(tmp_path / "old.db", 12)
    site = sites(old)
    text = site.page(f"{PATH}?since=all").text
    assert f"hermes-telemetry migrate --db {old}" in text
    assert "Failed attempts This ledger is too old to show this." in text
    assert site.get(f"{PATH}.json").json()["failed_attempts"] is None


def test_of_the_oldest_file_it_says_how_to_bring_it_up_to_date(
    sites: Sites, tmp_path: Path
) -> None:
    oldest = old_ledger.build(tmp_path / "oldest.db", 5)
    site = sites(oldest)
    assert "migrate" in site.get(f"{PATH}.json", status=409).json()["error"]
    page = Page(site.get(PATH, status=409).text)
    assert f"others. To add them: hermes-telemetry migrate --db {oldest}" in page.text
    # The other pages, which may know more, are to be had from there.
    assert page.address_of("Budget") == f"{PATH}/budget"


def test_names_of_every_kind_do_no_harm(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    for number, name in enumerate(HOSTILE.values()):
        made.run(name, NOW, cron_job_id=name, platform=name, profile=name)
        # Each is among the five dearest of one of two days.
        made.call(name, 2.0**number, "2026-07-21T09:00", model=name, provider=name)
        made.call(name, 0.5**number, "2026-07-22T09:00", model=name, provider=name)
        made.call(name, None, "2026-07-21T09:00", model=name)
        made.failure(name, "2026-07-21T09:00", model=name, status_code=name)
        made.tariff(1.0, 1.0, "2026-07-01T00:00", model=name, provider=name)
        made.tariff(2.0, 1.0, "2026-07-21T00:00", model=name, provider=name)
        made.flip(name, name, "2026-07-21T09:00", 1.0, name)
        amounts = {"spent_usd": 1.0, "limit_usd": 1.0, "period_key": "2026-07-22"}
        made.alert("sender", name, "2026-07-22T09:00", scope_id=name, **amounts)
        for second in range(5):
            made.failure(name, f"2026-07-21T10:00:0{second}", model=name)
    site = sites(ledger)
    for query in ("", "?since=2026-07-21&until=2026-07-21", "?since=2026-07-22"):
        html = site.get(PATH + query).text
        assert_harmless(html)
        assert pictures(html)
    for name in HOSTILE.values():
        answer = site.run(site.datasette.client.get(PATH, params={"profile": name}))
        assert answer.status_code == 200, name
        assert_no_markup(answer.text)
    said = site.get(f"{PATH}.json").json()
    assert {one["model"] for one in said["models"]} <= set(HOSTILE.values())


def test_the_demo_ledger_adds_up(sites: Sites, tmp_path: Path) -> None:
    ledger = tmp_path / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "900", "--days", "70"]) == 0
    site = sites(ledger)
    said = site.get(f"{PATH}.json?since=all").json()
    rows = site.rows("/telemetry/cost_by_day.json?_shape=array&since=all")
    total = sum(row["cost_usd"] or 0 for row in rows)
    assert said["total"]["cost_usd"] == pytest.approx(total)
    assert sum(bar["cost_usd"] or 0 for bar in said["spend"]) == pytest.approx(total)
    assert said["total"]["calls"] == 900
    page = site.page(PATH)
    assert_harmless(page.html)
    # Whatever a reader can follow there answers.
    for address in {a.partition("#")[0] for _, a in page.links if a.startswith("/")}:
        if "logout" not in address:
            site.get(address)
