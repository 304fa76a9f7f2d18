"""The numbers of the budget page, its JSON and its pictures: those of `forecast --json`."""

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.commands.cli import main
from hermes_telemetry.money import usd
from hermes_telemetry.windows import parse_timestamp
from support.budgets import JOB, limit_beside, name_job
from support.datasette_site import Page, Site, served
from support.ledger import HandMadeLedger
from support.pages import pictures

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


def test_a_row_says_where_a_limit_stands_and_where_it_goes(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    limit_beside(ledger, **{"global": {"monthly_usd": 50}})
    page = sites(ledger).page(PATH)
    # 21 days of 2 USD are 42 of 50. Today's call was anns, ten days are to come: 62, and no day
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
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    limit_beside(ledger, **{"global": {"monthly_usd": 50}})
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
    with closing(HandMadeLedger(ledger)) as anns:
        anns.call("s", 2.0, "2026-07-20T09:00")
    text = sites(ledger).page(PATH).text
    # Yesterday had a call, and June had none.
    assert "the day before" in text
    assert "the month before" not in text
    with closing(HandMadeLedger(ledger)) as anns:
        anns.call("s", 2.0, "2026-06-01T00:00")
    assert "the month before" in sites(ledger).page(PATH).text


def test_json_is_the_object_of_budget_json(
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    limit_beside(ledger, **{"global": {"monthly_usd": 50}})
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
    sites: Sites, ledger: Path, anns: HandMadeLedger
) -> None:
    limit_beside(ledger, per_sender={"default": {"daily_usd": 5}})
    site = sites(ledger)
    month = site.get(FORECAST).json()
    assert list(month) == KEYS
    assert (month["scope"], month["window"], month["spent_usd"]) == ("global", "monthly", 42.0)
    of_ann = site.get(f"{FORECAST}?scope=sender&scope_id=ann&window=daily").json()
    assert (of_ann["scope_id"], of_ann["limit_usd"], of_ann["spent_usd"]) == ("ann", 5.0, 2.0)
    every = site.get(f"{PATH}.json").json()["budgets"]
    assert of_ann in every


def test_a_job_may_be_asked_for_by_its_name(
    sites: Sites, ledger: Path, anns: HandMadeLedger, hermes_home: Path
) -> None:
    anns.run("c", "2026-07-20T03:00", cron_job_id=JOB)
    anns.call("c", 0.5, "2026-07-21T03:00")
    (hermes_home / "cron").mkdir()
    name_job(hermes_home, "nightly")
    asked = f"{FORECAST}?scope=cron_job&scope_id=nightly&window=daily"
    said = sites(ledger).get(asked).json()
    assert (said["scope_id"], said["scope_name"]) == (JOB, "nightly")
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
    sites: Sites, ledger: Path, anns: HandMadeLedger, asked: str, status: int, why: str
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
