"""The overview: its lists, the same as JSON, and files of every kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_telemetry.commands.cli import main
from support import old_ledger
from support.datasette_site import Page, Site
from support.ledger import HandMadeLedger
from support.pages import HOSTILE, assert_harmless, assert_no_markup, pictures

Sites = Callable[..., Site]

PATH = "/-/telemetry"
NOW = "2026-07-22T12:00:00"  # a Wednesday


def as_json(address: str) -> str:
    """Where the rows of a table's page are had as JSON."""
    return address.replace("?", ".json?_shape=array&")


# --- lists


def test_models_change_is_of_the_same_model(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.call("s", 1.0, "2026-06-10T09:00", model="a")
    july.call("s", 3.0, "2026-07-10T09:00", model="a", provider="one")
    july.call("s", 1.0, "2026-07-10T09:00", model="a", provider="two")
    july.call("s", 4.0, "2026-07-11T09:00", model="b")
    text = sites(ledger).page(PATH).text
    assert "a $4.00 50 % +300 % (+$3.00)" in text
    assert "b $4.00 50 % +$4.00" in text


def test_cron_jobs_sessions_and_failures_lead_to_their_rows(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.run("job", "2026-07-20T03:00", cron_job_id="0123456789ab", platform="cron")
    july.call("job", 1.0, "2026-07-20T03:01")
    july.edge("child", "job", at="2026-07-20T03:02")
    july.call("child", 0.5, "2026-07-20T03:03")
    for second, session in enumerate(("job", "job", "child")):
        july.failure(session, f"2026-07-20T03:04:0{second}", duration_ms=60_000)
    july.failure("job", "2026-07-20T03:05", status_code=None, duration_ms=None)
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


def test_what_to_look_at(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.free("gift", "p", "2026-06-01T00:00")
    july.flip("gift", "p", "2026-07-10T09:00", 0.25, "s")
    july.call("s", 0.25, "2026-07-10T09:00", model="gift")
    july.call("s", 0.5, "2026-07-11T09:00", model="gift")
    july.edge("child", "s", at="2026-07-11T09:00")
    for second in range(5):
        july.failure("s", f"2026-07-12T10:00:0{second}", model="stormy")
    amounts = {"spent_usd": 5.0, "limit_usd": 5.0, "scope_id": "ann", "period_key": "2026-07"}
    july.alert("sender", "hard", "2026-07-12T10:00", window="monthly", **amounts)
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


def test_how_far_to_trust_it(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.call("s", 1.0, "2026-07-20T09:00", estimated=1)
    july.call("s", 1.0, "2026-07-20T09:00", provider_assumed=1)
    july.call("s", None, "2026-07-20T09:00")
    july.call("s", 1.0, "2026-07-20T09:00", moa_preset="deep")
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


def test_a_profile_is_looked_at_alone(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.run("w", "2026-07-20T09:00", profile="work")
    july.call("w", 2.0, "2026-07-22T09:00")
    july.call("other", 4.0, "2026-07-22T09:00")
    text = sites(ledger).page(f"{PATH}?profile=work").text
    assert "Today $2.00" in text
    assert "This month $2.00" in text


def test_a_profile_is_told_of_its_own_limits_alone(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    amounts = {"window": "monthly", "period_key": "2026-07", "spent_usd": 5.0, "limit_usd": 5.0}
    july.alert("cron_job", "paused", "2026-07-12T10:00", scope_id="0123456789ab", **amounts)
    july.alert("global", "soft", "2026-07-12T11:00", **amounts)
    july.alert("profile", "hard", "2026-07-12T12:00", scope_id="work", **amounts)
    site = sites(ledger)
    shown = {
        profile: [
            row["scope"]
            for row in site.get(f"{PATH}.json?profile={profile}").json()["look_at"]["budget_alerts"]
        ]
        for profile in ("", "work", "nobody")
    }
    assert shown == {"": ["profile", "global", "cron_job"], "work": ["profile"], "nobody": []}
    assert "Profile work reached the limit" in site.page(f"{PATH}?profile=work").text
    assert "was paused" not in site.page(f"{PATH}?profile=nobody").text


# --- JSON, and files of every kind

TYPES = {
    "ok": bool,
    "database": str,
    "zone": str,
    "since": str,
    "until": str,
    "window_start": str,
    "window_end": str,
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
    "config_error": type(None),
    "trust": dict,
}


def test_the_json_has_its_names_and_kinds(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.call("s", 2.0, "2026-07-20T09:00")
    said = sites(ledger).get(f"{PATH}.json").json()
    assert {name: type(value) for name, value in said.items()} == TYPES
    assert said["before"] == {
        "since": "2026-06-01",
        "until": "2026-06-22",
        # It is noon of 22 July.
        "window_start": "2026-06-01T00:00:00.000000+00:00",
        "window_end": "2026-06-22T12:00:00.000000+00:00",
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
    sites: Sites, ledger: Path, july: HandMadeLedger
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


@pytest.mark.parametrize("page", [PATH, f"{PATH}/charts"])
def test_a_period_in_the_future_is_refused(
    sites: Sites, ledger: Path, july: HandMadeLedger, page: str
) -> None:
    why = "since: '2026-07-23' lies in the future: give a day up to today, 2026-07-22"
    site = sites(ledger)
    assert site.get(f"{page}.json?since=2026-07-23", status=400).json()["error"] == why
    assert why in Page(site.get(f"{page}?since=2026-07-23", status=400).text).text
    said = site.get(f"{page}.json?since=2026-07-02&until=2026-07-01", status=400).json()
    assert said["error"] == "until: '2026-07-01' lies before since: '2026-07-02'"


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


def test_names_of_every_kind_do_no_harm(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    for number, name in enumerate(HOSTILE.values()):
        july.run(name, NOW, cron_job_id=name, platform=name, profile=name)
        # Each is among the five most expensive of one of two days.
        july.call(name, 2.0**number, "2026-07-21T09:00", model=name, provider=name)
        july.call(name, 0.5**number, "2026-07-22T09:00", model=name, provider=name)
        july.call(name, None, "2026-07-21T09:00", model=name)
        july.failure(name, "2026-07-21T09:00", model=name, status_code=name)
        july.tariff(1.0, 1.0, "2026-07-01T00:00", model=name, provider=name)
        july.tariff(2.0, 1.0, "2026-07-21T00:00", model=name, provider=name)
        july.flip(name, name, "2026-07-21T09:00", 1.0, name)
        amounts = {"spent_usd": 1.0, "limit_usd": 1.0, "period_key": "2026-07-22"}
        july.alert("sender", name, "2026-07-22T09:00", scope_id=name, **amounts)
        for second in range(5):
            july.failure(name, f"2026-07-21T10:00:0{second}", model=name)
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
