"""The budget page, its JSON and its pictures: the numbers of `forecast --json`, in every state of
budget.yaml.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hermes_telemetry.commands.cli import main
from hermes_telemetry.money import usd
from hermes_telemetry.windows import parse_timestamp
from support import old_ledger
from support.datasette_site import Page, Site, served
from support.ledger import HandMadeLedger
from support.pages import HOSTILE, assert_harmless, pictures

Sites = Callable[..., Site]

PATH = "/-/telemetry/budget"
FORECAST = "/-/telemetry/forecast.json"
NOW = "2026-07-21T12:00:00"

KEYS = [
    *("scope", "scope_id", "scope_name", "window", "timezone", "limit_usd", "spent_usd"),
    *("firm_usd", "spent_pct", "verdict", "degraded", "based_on_estimates", "estimated_calls"),
    *("unpriced_calls", "over_by_usd", "window_start", "window_end", "elapsed_fraction"),
    *("history_days", "mean_daily_usd", "projected_usd", "projected_low_usd"),
    *("projected_high_usd", "breach_probability", "breach_at", "status", "method", "enabled"),
]


@pytest.fixture
def made(ledger: Path, stop_at: Callable[[str], None]) -> Iterator[HandMadeLedger]:
    """It is noon of 21 July; from 1 June on every day has cost 2 USD at nine, all of it ann's."""
    stop_at(NOW)
    ledger.with_name("budget.yaml").write_text("timezone: UTC")
    with closing(HandMadeLedger(ledger)) as made:
        made.run("s", "2026-06-01T09:00", sender_id="ann")
        day = date(2026, 6, 1)
        while day <= date(2026, 7, 21):
            made.call("s", 2.0, f"{day}T09:00:00")
            day += timedelta(days=1)
        yield made


def limit(ledger: Path, **budgets: Any) -> None:
    """Write budget.yaml beside the ledger."""
    content = {"budgets": budgets, "timezone": "UTC"}
    ledger.with_name("budget.yaml").write_text(json.dumps(content))


# --- numbers


def test_a_row_says_where_a_limit_stands_and_where_it_goes(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    limit(ledger, **{"global": {"monthly_usd": 50}})
    page = sites(ledger).page(PATH)
    # 21 days of 2 USD are 42 of 50. Today's call was made, ten days are to come: 62, and no day
    # ever strays. 24 July ends at 48, the 25th at 50, which is the first moment of the 26th.
    row = "Everyone month $42.00 $50.00"
    assert row in page.text
    assert "soft 84 % $62.00 $62.00 – $62.00 26 Jul 00:00 p 1.00" in page.text
    said = "$42.00 spent so far of $50.00; $62.00 expected in all, in 4 of 5 cases $62.00 to $62.00"
    assert said in page.text
    assert "The average of the last 14 days, $2.00 a day" in page.text
    assert "the last 49 days;" in page.text
    assert "Everyone day $2.00 – no limit $2.00 $2.00 – $2.00 –" in page.text


def test_the_picture_shows_limits_and_the_breach(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    limit(ledger, **{"global": {"monthly_usd": 50}})
    drawn = pictures(sites(ledger).get(PATH).text)
    words = ["".join(picture.itertext()) for picture in drawn]
    # The bar of the limit, then the month that is open, then the day.
    assert [w.split(" spent")[0] for w in words[:1]] == ["$42.00 of $50.00"]
    month = next(w for w in words if "July 2026" in w)
    for label in ("limit $50.00", "soft $40.00", "26 Jul 00:00", "1 Jul", "29 Jul"):
        assert label in month
    assert all(picture.get("role") == "img" for picture in drawn)


def test_the_legend_names_the_window_before_only_where_it_is_drawn(
    sites: Sites, ledger: Path, stop_at: Callable[[str], None]
) -> None:
    stop_at(NOW)
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 2.0, "2026-07-20T09:00")
    text = sites(ledger).page(PATH).text
    # Yesterday had a call, and June had none.
    assert "the day before" in text
    assert "the month before" not in text
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 2.0, "2026-06-01T00:00")
    assert "the month before" in sites(ledger).page(PATH).text


def test_json_is_the_object_of_budget_json(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    limit(ledger, **{"global": {"monthly_usd": 50}})
    said = sites(ledger).get(f"{PATH}.json").json()
    assert list(said) == [
        *("ok", "database", "generated_at", "timezone", "config_path", "config_error", "budgets")
    ]
    assert said["ok"] is True
    assert said["database"] == "telemetry"
    assert said["generated_at"] == "2026-07-21T12:00:00.000000+00:00"
    assert said["timezone"] == "UTC"
    assert said["config_path"] == str(ledger.with_name("budget.yaml"))
    assert said["config_error"] is None
    day, month = said["budgets"]
    assert list(day) == list(month) == KEYS
    assert (day["window"], day["limit_usd"], day["enabled"]) == ("daily", None, False)
    expected = {
        "spent_usd": 42.0,
        "projected_usd": 62.0,
        "projected_low_usd": 62.0,
        "projected_high_usd": 62.0,
        "breach_probability": 1.0,
        "breach_at": "2026-07-26T00:00:00.000000+00:00",
        "verdict": "soft",
    }
    assert {key: month[key] for key in expected} == pytest.approx(expected)


def test_a_forecast_is_one_object_for_whom_it_is_asked(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    limit(ledger, per_sender={"default": {"daily_usd": 5}})
    site = sites(ledger)
    month = site.get(FORECAST).json()
    assert list(month) == KEYS
    assert (month["scope"], month["window"], month["spent_usd"]) == ("global", "monthly", 42.0)
    of_ann = site.get(f"{FORECAST}?scope=sender&scope_id=ann&window=daily").json()
    assert (of_ann["scope_id"], of_ann["limit_usd"], of_ann["spent_usd"]) == ("ann", 5.0, 2.0)
    every = site.get(f"{PATH}.json").json()["budgets"]
    assert of_ann in every


def test_a_job_may_be_asked_for_by_its_name(
    sites: Sites, ledger: Path, made: HandMadeLedger, hermes_home: Path
) -> None:
    made.run("c", "2026-07-20T03:00", cron_job_id="0123456789ab")
    made.call("c", 0.5, "2026-07-21T03:00")
    jobs(hermes_home, {"id": "0123456789ab", "name": "nightly"})
    asked = f"{FORECAST}?scope=cron_job&scope_id=nightly&window=daily"
    said = sites(ledger).get(asked).json()
    assert (said["scope_id"], said["scope_name"]) == ("0123456789ab", "nightly")
    assert said["spent_usd"] == 0.5


@pytest.mark.parametrize(
    ("asked", "status", "why"),
    [
        ("scope=user", 400, "scope: 'user' is none of global, cron_job, sender, profile"),
        ("window=weekly", 400, "window: 'weekly' is none of daily, monthly"),
        ("scope=sender", 400, "scope_id: say which sender"),
        ("scope_id=ann", 400, "scope_id: global is all that is spent, it takes none"),
        ("scope=sender&scope_id=nobody", 404, "no call of the sender 'nobody' is recorded"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    sites: Sites, ledger: Path, made: HandMadeLedger, asked: str, status: int, why: str
) -> None:
    said = sites(ledger).get(f"{FORECAST}?{asked}", status=status).json()
    assert (said["ok"], said["error"]) == (False, why)


def test_over_http_the_numbers_are_those_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the cent: spent, projected, interval and breach, on the page and in both JSON answers."""
    ledger = tmp_path / "telemetry.db"
    assert main(["demo", str(ledger), "--calls", "900", "--days", "70"]) == 0
    beside = ledger.with_name("budget.yaml")
    beside.write_text(beside.read_text().replace("monthly_usd:", "daily_usd: 0.05, monthly_usd:"))
    with served(ledger) as client:
        for window in ("daily", "monthly"):
            capsys.readouterr()
            assert main(["forecast", "--json", "--window", window, "--db", str(ledger)]) == 0
            command = json.loads(capsys.readouterr().out)
            web = client.get(FORECAST, params={"window": window}).json()
            listed = client.get(f"{PATH}.json").json()["budgets"][window == "monthly"]
            for other in (web, listed):
                assert to_the_cent(other) == to_the_cent(command)
            shown = Page(client.get(PATH).text).text
            for key in ("spent_usd", "projected_usd"):
                assert usd(command[key], command["unpriced_calls"]) in shown
            low, high = usd(command["projected_low_usd"]), usd(command["projected_high_usd"])
            assert f"{low} – {high}" in shown
            if command["breach_at"]:
                moment = parse_timestamp(command["breach_at"])
                passed = moment <= datetime.now(UTC)
                day = f"{moment.day} {moment:%b} " if window == "monthly" else ""
                assert f"{'reached ' if passed else ''}{day}{moment:%H:}" in shown


def to_the_cent(said: dict[str, Any]) -> dict[str, Any]:
    """But for what changes with each second."""
    amounts = {
        key: None if said[key] is None else round(said[key], 2)
        for key in said
        if key.endswith("_usd")
    }
    # Where the path meets a limit moves with now, within the day.
    return amounts | {
        "verdict": said["verdict"],
        "status": said["status"],
        "breach_day": said["breach_at"] and said["breach_at"][:10],
    }


# --- the file


def test_without_a_file_nothing_is_enforced(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    ledger.with_name("budget.yaml").unlink()
    page = sites(ledger).page(PATH)
    assert "Nothing is enforced: there is no budget.yaml." in page.text
    assert f"hermes-telemetry budget set global monthly 100 --db {ledger}" in page.text
    assert "Everyone month $42.00 – no limit" in page.text
    limit(ledger)
    assert "Nothing is enforced: budget.yaml names no limit." in sites(ledger).page(PATH).text


def test_a_faulty_file_is_told_beside_the_limits_in_force(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    limit(ledger, **{"global": {"monthly_usd": 50}})
    site = sites(ledger)
    site.get(PATH)
    limit(ledger, **{"global": {"monthly_usd": -50}})
    time.sleep(1.1)  # the file is looked at once a second
    page = site.page(PATH)
    fault = "budgets.global.monthly_usd is negative: -50"
    assert "budget.yaml cannot be used." in page.text
    assert fault in page.text
    assert "The limits below are those that this server read before" in page.text
    assert "Everyone month $42.00 $50.00" in page.text
    said = site.get(f"{PATH}.json").json()
    assert fault in said["config_error"]
    assert said["budgets"][1]["limit_usd"] == 50.0
    overview = site.page("/-/telemetry").text
    assert "84 % soft" in overview

    fresh = sites(ledger).page(PATH).text
    assert fault in fresh
    assert "This server uses no limit" in fresh
    assert "Everyone month $42.00 – no limit" in fresh


def test_a_young_ledger_says_what_a_forecast_needs(
    sites: Sites, ledger: Path, stop_at: Callable[[str], None]
) -> None:
    stop_at(NOW)
    limit(ledger, **{"global": {"monthly_usd": 50}})
    with closing(HandMadeLedger(ledger)) as made:
        # The first day began in its middle: one complete day is left.
        made.call("s", 2.0, "2026-07-19T09:00")
        made.call("s", 2.0, "2026-07-20T09:00")
    page = sites(ledger).page(PATH)
    assert "Everyone month $4.00 $50.00" in page.text
    assert "ok 8.0 % – –" in page.text
    assert "forecast needs 3 days, has 1" in page.text


def test_an_empty_ledger_has_a_budget_page(
    sites: Sites, ledger: Path, stop_at: Callable[[str], None]
) -> None:
    stop_at(NOW)
    limit(ledger, **{"global": {"daily_usd": 5}})
    site = sites(ledger)
    page = site.page(PATH)
    assert "Everyone day $0.00 $5.00" in page.text
    assert "forecast needs 3 days, has 0" in page.text
    day, month = site.get(f"{PATH}.json").json()["budgets"]
    assert (day["spent_usd"], day["verdict"], day["projected_usd"]) == (0.0, "ok", None)
    assert month["status"] == "insufficient_history"


def test_unpriced_calls_make_a_lower_bound(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    made.call("s", None, "2026-07-20T10:00")
    made.call("s", 1.0, "2026-07-20T11:00", estimated=1)
    limit(ledger, **{"global": {"monthly_usd": 50}})
    page = sites(ledger).page(PATH)
    assert "Everyone month ≥ $43.00 $50.00" in page.text
    assert "1 of its calls are estimated: without them it is $42.00. 1 have no price" in page.text


# --- rows


def test_everyone_stands_first_then_who_is_over_then_who_is_nearest_to_a_limit(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    for sender, amount in (("bob", 3.0), ("eve", 0.5)):
        made.run(sender, NOW, sender_id=sender)
        made.call(sender, amount, "2026-07-21T10:00")
    # One call of eve has no price, which alone is a breach here: she is over with an eighth spent.
    made.call("eve", None, "2026-07-21T10:00")
    content = {
        "budgets": {"per_sender": {"default": {"daily_usd": 4}}},
        "on_unpriced": {"mode": "block"},
        "timezone": "UTC",
    }
    ledger.with_name("budget.yaml").write_text(json.dumps(content))
    text = sites(ledger).page(PATH).text
    order = ("Everyone day", "Everyone month", "Sender eve", "Sender bob", "Sender ann")
    places = [text.index(who) for who in order]
    assert places == sorted(places)
    assert "hard 12 %" in text


def test_a_hundred_rows_are_shown_and_the_rest_is_counted(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    for number in range(103):
        made.run(f"s{number}", NOW, sender_id=f"sender-{number:03}")
        made.call(f"s{number}", 0.25, "2026-07-21T10:00")
    limit(ledger, per_sender={"default": {"daily_usd": 4}})
    site = sites(ledger)
    # Everyone's two, ann and 103 others are 106.
    page = site.page(PATH)
    assert page.html.count('class="tm-budget"') == 100
    assert "6 more, farther from their limits, are in the JSON." in page.text
    assert len(site.get(f"{PATH}.json").json()["budgets"]) == 106


def test_the_picture_of_an_opened_row_is_loaded_by_itself(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    limit(ledger, per_sender={"default": {"daily_usd": 4}})
    site = sites(ledger)
    address = f"{PATH}/chart.svg?scope=sender&scope_id=ann&window=daily"
    assert f'src="{address.replace("&", "&amp;")}"' in site.get(PATH).text
    answer = site.get(address)
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    picture = ElementTree.fromstring(answer.text)
    assert "$2.00 spent so far of $4.00" in "".join(picture.itertext())
    site.get(address.replace("ann", "nobody"), status=404)


def test_earlier_forecasts_are_compared_with_what_was_spent(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    site = sites(ledger)
    asked = {
        address.partition("window=")[2].partition("#")[0]: address
        for words, address in site.page(PATH).links
        if words.startswith("Compare earlier")
    }
    # Each day cost the same, so none was off. Of July's midnights with 28 days behind them, 30 June
    # has a month that is over; days that are over have 30 June, then 5, 10, 15 and 20 July.
    exact = "off by 0 % of what was still to be spent; 100 % of them"
    assert (
        f"1 earlier forecast (one at every fifth midnight) was {exact}"
        in site.page(asked["monthly"]).text
    )
    assert (
        f"5 earlier forecasts (one at every fifth midnight) were {exact}"
        in site.page(asked["daily"]).text
    )


def test_spent_leads_to_its_rows(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    made.run("c", "2026-07-21T03:00", cron_job_id="0123456789ab", profile="work")
    made.call("c", 0.5, "2026-07-21T03:00")
    limit(
        ledger,
        per_cron_job={"default": {"daily_usd": 1}},
        per_profile={"default": {"monthly_usd": 1}},
        per_sender={"default": {"daily_usd": 3}},
    )
    site = sites(ledger)
    links = {words: address for words, address in site.page(PATH).links if words.startswith("$")}
    assert "$0.50" in links
    for address in links.values():
        assert site.get(address.partition("#")[0])


# --- beside the rows


def test_alerts_stand_there_newest_first(sites: Sites, ledger: Path, made: HandMadeLedger) -> None:
    amounts = {"window": "monthly", "period_key": "2026-07", "limit_usd": 50.0}
    made.alert("global", "soft", "2026-07-20T09:00", spent_usd=40.0, **amounts)
    made.alert("global", "hard", "2026-07-21T09:00", spent_usd=50.5, **amounts)
    text = sites(ledger).page(PATH).text
    newest = "09:00:00 hard Everyone 2026-07 $50.50 $50.00"
    assert f"{newest} 20 Jul 09:00:00 soft Everyone 2026-07 $40.00 $50.00" in text


def test_paused_jobs_stand_there_with_what_resumes_them(
    sites: Sites, ledger: Path, made: HandMadeLedger, hermes_home: Path
) -> None:
    assert "No job is paused on this machine." in sites(ledger).page(PATH).text
    jobs(
        hermes_home,
        {"id": "0123456789ab", "name": "nightly", "state": "paused", "paused_reason": "budget"},
        {"id": "ba9876543210", "name": "hourly"},
    )
    text = sites(ledger).page(PATH).text
    assert "nightly budget Resume it: hermes cron resume 0123456789ab" in text
    assert "hourly" not in text


def jobs(home: Path, *entries: dict[str, Any]) -> None:
    file = home / "cron" / "jobs.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"jobs": list(entries)}))


# --- who, and what else may be in a file


def test_an_allow_of_the_database_holds_for_all_of_it(
    sites: Sites, ledger: Path, made: HandMadeLedger
) -> None:
    only = {"metadata": {"databases": {"telemetry": {"allow": {"id": "ann"}}}}}
    site = sites(ledger, **only)
    for path in (PATH, f"{PATH}.json", FORECAST, f"{PATH}/chart.svg"):
        site.get(path, status=403)
        site.get(path, actor="ann")


def test_an_older_file_tells_what_it_can_and_names_the_command_for_the_rest(
    sites: Sites, tmp_path: Path
) -> None:
    old = old_ledger.build(tmp_path / "old.db", 5)
    assert "Everyone month" in sites(old).page(PATH).text
    # It knows of no profiles.
    limit(old, per_profile={"default": {"daily_usd": 1}})
    site = sites(old)
    said = site.get(f"{PATH}.json", status=409).json()
    assert f"hermes-telemetry migrate --db {old}" in said["error"]
    assert "hermes-telemetry migrate" in site.get(PATH, status=409).text


def test_names_of_every_kind_do_no_harm(
    sites: Sites, ledger: Path, made: HandMadeLedger, hermes_home: Path
) -> None:
    for number, name in enumerate(HOSTILE.values()):
        made.run(f"r{number}", NOW, sender_id=name, profile=name, cron_job_id=name)
        made.call(f"r{number}", 1.0, "2026-07-21T10:00", model=name)
        made.alert(
            "sender", "soft", "2026-07-21T10:00", scope_id=name, spent_usd=1.0, limit_usd=1.0
        )
    limit(
        ledger,
        per_cron_job={"default": {"daily_usd": 1}},
        per_profile={"default": {"daily_usd": 1}},
        per_sender={"default": {"daily_usd": 1}},
    )
    jobs(
        hermes_home,
        {
            "id": "x'y",
            "name": HOSTILE["markup"],
            "state": "paused",
            "paused_reason": HOSTILE["script"],
        },
    )
    site = sites(ledger)
    html = site.get(PATH).text
    assert_harmless(html)
    assert pictures(html)
    said = site.get(f"{PATH}.json").json()
    assert {row["scope_id"] for row in said["budgets"]} >= set(HOSTILE.values())
    for name in HOSTILE.values():
        asked = {"scope": "profile", "scope_id": name, "window": "daily"}
        picture = site.run(site.datasette.client.get(f"{PATH}/chart.svg", params=asked))
        assert picture.status_code == 200, name
        ElementTree.fromstring(picture.text)
