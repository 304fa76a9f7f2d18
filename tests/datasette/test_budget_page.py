"""The budget page: its rows, what stands beside them, and who may see it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from support import old_ledger
from support.budgets import limit_beside
from support.datasette_site import Site
from support.ledger import HandMadeLedger
from support.pages import HOSTILE, assert_harmless, pictures

Sites = Callable[..., Site]

PATH = "/-/telemetry/budget"
FORECAST = "/-/telemetry/forecast.json"
NOW = "2026-07-21T12:00:00"

# --- rows


def test_everyone_stands_first_then_who_is_over_then_who_is_nearest_to_a_limit(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    for sender, amount in (("bob", 3.0), ("eve", 0.5)):
        anns.run(sender, NOW, sender_id=sender)
        anns.call(sender, amount, "2026-07-21T10:00")
    # One call of eve has no price, which alone is a breach here: she is over with an eighth spent.
    anns.call("eve", None, "2026-07-21T10:00")
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
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    for number in range(103):
        anns.run(f"s{number}", NOW, sender_id=f"sender-{number:03}")
        anns.call(f"s{number}", 0.25, "2026-07-21T10:00")
    limit_beside(ledger, per_sender={"default": {"daily_usd": 4}})
    site = sites(ledger)
    # Everyone's two, ann and 103 others are 106.
    page = site.page(PATH)
    assert page.html.count('class="tm-budget"') == 100
    assert "6 more, farther from their limits, are in the JSON." in page.text
    assert len(site.get(f"{PATH}.json").json()["budgets"]) == 106


def test_the_picture_of_an_opened_row_is_loaded_by_itself(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    limit_beside(ledger, per_sender={"default": {"daily_usd": 4}})
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
    sites: Sites, ledger: Path, anns: HandMadeLedger
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


def test_spent_leads_to_its_rows(sites: Sites, ledger: Path, anns: HandMadeLedger) -> None:
    anns.run("c", "2026-07-21T03:00", cron_job_id="0123456789ab", profile="work")
    anns.call("c", 0.5, "2026-07-21T03:00")
    limit_beside(
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


def test_alerts_stand_there_newest_first(sites: Sites, ledger: Path, anns: HandMadeLedger) -> None:
    amounts = {"window": "monthly", "period_key": "2026-07", "limit_usd": 50.0}
    anns.alert("global", "soft", "2026-07-20T09:00", spent_usd=40.0, **amounts)
    anns.alert("global", "hard", "2026-07-21T09:00", spent_usd=50.5, **amounts)
    text = sites(ledger).page(PATH).text
    newest = "09:00:00 hard Everyone 2026-07 $50.50 $50.00"
    assert f"{newest} 20 Jul 09:00:00 soft Everyone 2026-07 $40.00 $50.00" in text


def test_paused_jobs_stand_there_with_what_resumes_them(
    sites: Sites, ledger: Path, anns: HandMadeLedger, hermes_home: Path
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
    sites: Sites, ledger: Path, anns: HandMadeLedger
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
    limit_beside(old, per_profile={"default": {"daily_usd": 1}})
    site = sites(old)
    said = site.get(f"{PATH}.json", status=409).json()
    assert f"hermes-telemetry migrate --db {old}" in said["error"]
    assert "hermes-telemetry migrate" in site.get(PATH, status=409).text


def test_names_of_every_kind_do_no_harm(
    sites: Sites, ledger: Path, anns: HandMadeLedger, hermes_home: Path
) -> None:
    for number, name in enumerate(HOSTILE.values()):
        anns.run(f"r{number}", NOW, sender_id=name, profile=name, cron_job_id=name)
        anns.call(f"r{number}", 1.0, "2026-07-21T10:00", model=name)
        anns.alert(
            "sender", "soft", "2026-07-21T10:00", scope_id=name, spent_usd=1.0, limit_usd=1.0
        )
    limit_beside(
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
