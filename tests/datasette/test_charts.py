"""The cost review: what each of its figures says and draws, worked out by hand."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.windows import Clock
from support.cost_review import JOB, figure, fill, review
from support.datasette_site import Site
from support.ledger import HandMadeLedger
from support.stopped_clock import StoppedClock

Sites = Callable[..., Site]


@pytest.fixture(autouse=True)
def days_are_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def filled(ledger: Path) -> Path:
    fill(ledger)
    return ledger


def total(figure: dict[str, Any]) -> tuple[Any, ...]:
    return figure["total"], figure["unit"], figure["unpriced_calls"]


def drawn(figure: dict[str, Any], show: str) -> list[tuple[Any, ...]]:
    return [tuple(row[key] for key in show.split()) for row in figure["rows"]]


# --- each figure


def test_the_head_has_the_sums_and_those_of_the_same_days_before(
    sites: Sites, filled: Path
) -> None:
    said = review(sites(filled))
    del said["figures"], said["saved"]
    assert said == {
        "ok": True,
        "database": "telemetry",
        "zone": "UTC",
        "since": "2026-07-01",
        "until": "2026-07-03",
        "window_start": "2026-07-01T00:00:00.000000+00:00",
        "window_end": "2026-07-04T00:00:00.000000+00:00",
        "profile": None,
        "data_to": "2026-07-02T12:00:00.000000+00:00",
        "total_usd": 4.25,
        "calls": 6,
        "unpriced_calls": 1,
        "before": {
            "since": "2026-06-01",
            "until": "2026-06-03",
            "window_start": "2026-06-01T00:00:00.000000+00:00",
            "window_end": "2026-06-04T00:00:00.000000+00:00",
            "recorded_from": "2026-06-02",
            "total_usd": 1.25,
            "calls": 2,
            "unpriced_calls": 0,
        },
        # 4.25 - 1.25, and that of 1.25.
        "change_usd": 3.0,
        "change_pct": 240.0,
    }


def test_a_ledger_that_only_began_is_compared_with_nothing(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        made.change("delete from llm_calls where ts < '2026-07-02'")
    site = sites(filled)
    said = review(site)
    assert (said["total_usd"], said["before"], said["change_usd"]) == (3.5, None, None)
    why = "Nothing is recorded before 2 July 2026."
    assert [figure(site, name)["sentence"] for name in ("running_total", "changes")] == [why, why]
    assert {row["line"] for row in figure(site, "running_total")["rows"]} == {"this"}
    assert figure(site, "changes")["rows"] == []


def test_sums_do_not_hang_on_the_order_of_their_parts(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        for number in range(10):
            made.call("s", 0.1, f"2026-08-{1 + number % 2:02}T10:00", model=f"m{number}")
    said = review(sites(filled), "since=2026-08-01&until=2026-08-02")
    # Added up one after the other, as floats, ten times 0.1 are 0.9999999999999999.
    assert [said["total_usd"], *(one["total"] for one in said["figures"][:2])] == [1.0] * 3


def test_days_are_those_of_the_readers_clock(
    sites: Sites, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Madrid")
    with closing(HandMadeLedger(filled)) as made:
        # 25 October has 25 hours there: from 22:00 UTC the day before to 23:00 UTC.
        for at, cost in (("24T21:59", 1.0), ("24T22:00", 2.0), ("25T22:59", 4.0), ("25T23:00", 8)):
            made.call("s", cost, f"2026-10-{at}", model="a")
    said = review(sites(filled), "since=2026-10-25&until=2026-10-25")
    assert (said["zone"], said["total_usd"]) == ("Europe/Madrid", 6.0)
    assert drawn(said["figures"][0], "day cost_usd") == [("2026-10-25", 6.0)]
    assert drawn(said["figures"][1], "line at usd") == [
        ("this", "2026-10-25T00:00:00", 0.0),
        ("this", "2026-10-26T00:00:00", 6.0),
        # The day before, drawn a day later.
        ("before", "2026-10-25T00:00:00", 0.0),
        ("before", "2026-10-26T00:00:00", 1.0),
    ]
    assert drawn(said["figures"][2], "model change_usd") == [("a", 5.0)]


def test_spend_is_stacked_by_day_and_model(sites: Sites, filled: Path) -> None:
    spend = figure(sites(filled), "spend")
    assert total(spend) == (4.25, "usd", 1)
    assert drawn(spend, "day model is_other cost_usd") == [
        ("2026-07-01", "a", False, 0.5),
        ("2026-07-01", "b", False, 0.25),
        ("2026-07-02", "a", False, 3.0),
        ("2026-07-02", "b", False, 0.5),
    ]
    # 3.5 of 4.25.
    assert spend["sentence"] == "a made 82 % of it; the most expensive day was 2 July with $3.50."


def test_beyond_five_models_the_others_are_one(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        for number in range(7):
            made.call("chat-1", 2.0 ** (3 + number), "2026-07-03T10:00", model=f"m{number}")
    spend = figure(sites(filled), "spend")
    # The dearest five are 32 to 512; what is left of that day are 8 and 16.
    assert [row for row in drawn(spend, "day model cost_usd") if row[0] == "2026-07-03"] == [
        ("2026-07-03", "m6", 512.0),
        ("2026-07-03", "m5", 256.0),
        ("2026-07-03", "m4", 128.0),
        ("2026-07-03", "m3", 64.0),
        ("2026-07-03", "m2", 32.0),
        ("2026-07-03", None, 24.0),
    ]
    assert sum(row["cost_usd"] for row in spend["rows"]) == spend["total"]
    assert {row["day"] for row in spend["rows"] if row["is_other"]} == {
        "2026-07-01",
        "2026-07-02",
        "2026-07-03",
    }


@pytest.mark.parametrize(
    ("since", "step", "first"),
    [
        # Up to 92 days are days, up to 731 weeks, up to 3653 months; 1 June 2026 is a Monday.
        ("2026-04-03", "day", "2026-06-02"),
        ("2026-04-02", "week", "2026-06-01"),
        ("2024-07-02", "month", "2026-06-01"),
        ("2016-07-02", "year", "2026-01-01"),
    ],
)
def test_a_long_period_is_drawn_in_longer_steps(
    sites: Sites, filled: Path, since: str, step: str, first: str
) -> None:
    spend = figure(sites(filled), "spend", f"since={since}&until=2026-07-03")
    assert spend["title"] == f"Spend by {step} and model"
    assert spend["rows"][0][step] == first
    assert total(spend) == (69.5, "usd", 1)
    assert sum(row["cost_usd"] for row in spend["rows"]) == 69.5


def test_the_running_total_ends_where_the_period_does(sites: Sites, filled: Path) -> None:
    running = figure(sites(filled), "running_total")
    assert total(running) == (4.25, "usd", 1)
    # The sums at both ends of days with calls and at the end; June's are drawn 30 days later.
    assert drawn(running, "line at usd low_usd") == [
        ("this", "2026-07-01T00:00:00", 0.0, None),
        ("this", "2026-07-02T00:00:00", 0.75, None),
        ("this", "2026-07-03T00:00:00", 4.25, None),
        ("this", "2026-07-04T00:00:00", 4.25, None),
        ("before", "2026-07-01T00:00:00", 0.0, None),
        ("before", "2026-07-02T00:00:00", 0.0, None),
        ("before", "2026-07-03T00:00:00", 1.25, None),
        ("before", "2026-07-04T00:00:00", 1.25, None),
    ]
    assert running["sentence"] == "1-3 June 2026 (recorded from 2 June) cost $1.25."


def test_limits_stand_beside_the_running_total_of_a_month(sites: Sites, filled: Path) -> None:
    filled.with_name("budget.yaml").write_text("budgets: {global: {monthly_usd: 5}}\n")
    site = sites(filled)
    limits = [("limit", None, 5.0), ("soft limit", None, 4.0)]
    assert drawn(figure(site, "running_total"), "line at usd")[-2:] == limits
    # Not for days that do not begin a month.
    elsewhere = figure(site, "running_total", "since=2026-07-02&until=2026-07-03")
    assert {row["line"] for row in elsewhere["rows"]} == {"this", "before"}


def test_a_budget_file_that_cannot_be_used_is_told(sites: Sites, filled: Path) -> None:
    filled.with_name("budget.yaml").write_text("budgets: {global: {monthly_usd: -5}}\n")
    sentence = figure(sites(filled), "running_total")["sentence"]
    assert sentence.startswith("The limit is unknown: budget.yaml: line 1, column 33: ")


@pytest.fixture
def a_dollar_a_day(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dollar at 10:00 each day from 1 June to 10 July, when it is noon."""
    noon = Clock(
        now=lambda: datetime(2026, 7, 10, 12, tzinfo=UTC),
        monotonic=StoppedClock().clock.monotonic,
        sleep=StoppedClock().clock.sleep,
    )
    monkeypatch.setattr("hermes_telemetry_datasette.views.frame.SYSTEM_CLOCK", noon)
    with closing(HandMadeLedger(ledger)) as made:
        for day in [f"06-{n:02}" for n in range(1, 31)] + [f"07-{n:02}" for n in range(1, 11)]:
            made.call("s", 1.0, f"2026-{day}T10:00")
    return ledger


def test_a_month_that_goes_on_shows_where_it_goes(sites: Sites, a_dollar_a_day: Path) -> None:
    limits = "budgets: {global: {monthly_usd: 20.5}}\n"
    a_dollar_a_day.with_name("budget.yaml").write_text(limits)
    said = review(sites(a_dollar_a_day), "")
    # The ledger begins with 1 June: all that it is compared with is recorded.
    assert (said["before"]["since"], said["before"]["recorded_from"]) == ("2026-06-01", None)
    running = said["figures"][1]
    assert total(running) == (10.0, "usd", 0)
    lines = {
        name: [row for row in drawn(running, "line at usd low_usd high_usd") if row[0] == name]
        for name in ("this", "before", "expected")
    }
    assert lines["this"][-1][1:3] == ("2026-07-10T12:00:00", 10.0)
    # All of June, which has a day less.
    assert lines["before"][-1][1:3] == ("2026-07-31T00:00:00", 30.0)
    # Nothing more today, for it has always come at 10:00, then a dollar each day.
    assert lines["expected"][0][1:] == ("2026-07-10T12:00:00", 10.0, 10.0, 10.0)
    assert lines["expected"][1][1:] == ("2026-07-11T00:00:00", 10.0, 10.0, 10.0)
    assert lines["expected"][-1][1:] == ("2026-08-01T00:00:00", 31.0, 31.0, 31.0)
    # At the end of 20 July it is 20.
    assert running["sentence"] == (
        "July is expected to cost $31.00 (4 in 5 cases: $31.00 to $31.00);"
        " the limit of $20.50 is reached about 21 July."
    )


def test_too_short_a_history_draws_no_forecast(sites: Sites, a_dollar_a_day: Path) -> None:
    with closing(HandMadeLedger(a_dollar_a_day)) as made:
        made.change("delete from llm_calls where ts < '2026-07-08'")
    running = figure(sites(a_dollar_a_day), "running_total", "")
    # Complete is 9 July alone: 8 July may have begun in its middle.
    assert (
        running["sentence"]
        == "There is no forecast yet: the ledger has 1 of the 3 complete days it needs."
    )
    # Of June nothing is recorded.
    assert {row["line"] for row in running["rows"]} == {"this"}


def test_what_changed_leaves_out_what_is_not_known(sites: Sites, filled: Path) -> None:
    changes = figure(sites(filled), "changes")
    # a 3.5 - 0.25, b 0.75 - 0, d 0 - 1; c has no price now.
    assert drawn(changes, "model is_other change_usd") == [
        ("a", False, 3.25),
        ("b", False, 0.75),
        ("d", False, -1.0),
    ]
    assert total(changes) == (3.0, "usd_difference", 0)
    assert changes["sentence"] == (
        "a changed most: +$3.25 against 1-3 June 2026 (recorded from 2 June)."
        " Left out because their cost is unknown: c."
    )


def test_calls_without_a_model_are_one_line_of_what_changed(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        made.call("chat-1", 16.0, "2026-07-02T10:00", model=None)
        made.call("chat-1", 32.0, "2026-07-02T11:00", model="")
    changes = figure(sites(filled), "changes")
    assert drawn(changes, "model change_usd")[0] == ("", 48.0)
    assert total(changes) == (51.0, "usd_difference", 0)


def test_a_model_that_costs_the_same_has_not_changed(sites: Sites, filled: Path) -> None:
    # In floats 0.1 + 0.2 is more than 0.3.
    with closing(HandMadeLedger(filled)) as made:
        made.call("chat-1", 0.3, "2026-06-02T10:00", model="same")
        made.call("chat-1", 0.1, "2026-07-02T10:00", model="same")
        made.call("chat-1", 0.2, "2026-07-02T11:00", model="same")
    changes = figure(sites(filled), "changes")
    assert [row["model"] for row in changes["rows"]] == ["a", "b", "d"]


def test_beyond_ten_the_smallest_changes_are_one(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        for number in range(9):
            made.call("chat-1", 16.0 * (number + 1), "2026-07-03T10:00", model=f"m{number}")
    changes = figure(sites(filled), "changes")
    # 9 new models, then a, b and d: 3.25 + 0.75 - 1.
    assert len(changes["rows"]) == 10
    assert drawn(changes, "model is_other change_usd")[-1] == (None, True, 3.0)
    assert changes["total"] == 16.0 * 45 + 3.0


def test_cron_jobs_have_own_and_delegated_cost(sites: Sites, filled: Path) -> None:
    jobs = figure(sites(filled), "cron_jobs")
    assert total(jobs) == (2.5, "usd", 0)
    assert drawn(jobs, "cron_job_id job_name part cost_usd") == [
        (JOB, JOB, "own", 2.0),
        (JOB, JOB, "delegated", 0.5),
    ]
    assert jobs["sentence"] == (
        f"{JOB} cost most: $2.50 in 1 run, $2.50 a run, 20 % of it by subagents."
    )


def test_the_total_of_the_ten_dearest_jobs_is_theirs(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        for number in range(11):
            made.run(f"s{number}", "2026-07-03T03:00", cron_job_id=f"{number:012}")
            made.call(f"s{number}", 4.0, "2026-07-03T03:01")
    jobs = figure(sites(filled), "cron_jobs")
    assert jobs["total"] == 40.0
    assert jobs["sentence"].endswith("The 10 most expensive of 12 jobs.")
    assert {row["cost_usd"] for row in jobs["rows"] if row["part"] == "delegated"} == {0.0}


def test_sessions_are_counted_by_what_they_cost(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        for session, cost in (("free", 0.0), ("cheap", 0.0005), ("dear", 4096.0), ("none", None)):
            made.call(session, cost, "2026-07-03T10:00")
    sessions = figure(sites(filled), "sessions")
    assert total(sessions) == (4100.2505, "usd", 2)
    bins = drawn(sessions, "label from_usd below_usd sessions")
    assert bins[:4] == [
        ("no price", None, None, 1),
        ("$0", 0, 0, 1),
        ("< $0.001", 0, 0.001, 1),
        ("$0.001–0.003", 0.001, 0.003, 0),
    ]
    # 0.5 and 0.75; 1 and 2.
    assert ("$0.3–1", 0.3, 1, 2) in bins
    assert ("$1–3", 1, 3, 2) in bins
    assert bins[-1] == ("≥ $1,000", 1000, None, 1)
    assert sum(row["sessions"] for row in sessions["rows"]) == 8
    # One tenth of eight.
    assert sessions["sentence"] == (
        "The most expensive of 8 sessions cost $4,096.00, 99.9 % of it."
    )


def test_the_cache_has_its_share_of_the_input(sites: Sites, filled: Path) -> None:
    cache = figure(sites(filled), "cache")
    # 3 million at 0.50 where the input rate is 2.
    assert total(cache) == (4.5, "usd_difference", 0)
    assert drawn(cache, "day kind share") == [
        ("2026-07-01", "cache read", 0.75),
        ("2026-07-01", "cache write", 0.0),
        ("2026-07-01", "fresh", 0.25),
    ]
    assert cache["sentence"] == "75 % of 4,000,000 input tokens were read from the cache."


def test_failed_attempts_are_stacked_by_status(sites: Sites, filled: Path) -> None:
    failures = figure(sites(filled), "failures")
    assert total(failures) == (3, "attempts", 0)
    assert drawn(failures, "day status_code is_other attempts") == [
        ("2026-07-01", 429, False, 2),
        ("2026-07-02", None, False, 1),
    ]
    assert failures["sentence"] == (
        "Most often 429: 67 % of them; the worst day was 1 July with 2."
    )


def test_trust_shows_how_each_providers_calls_were_priced(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        made.call("chat-1", 0.5, "2026-07-03T10:00", estimated=1)
        made.call("chat-1", 0.5, "2026-07-03T10:00", provider_assumed=1)
        made.call("chat-1", 0.0, "2026-07-03T10:00", price=made.price("free"), tokens_in=1)
        made.call("chat-1", 0.0, "2026-07-03T10:00", tokens_in=1)
    trust = figure(sites(filled), "trust")
    assert total(trust) == (10, "calls", 0)
    # The last zero has tokens and nothing that explains it.
    assert drawn(trust, "provider class calls") == [
        ("p", "priced", 5),
        ("p", "assumed", 1),
        ("p", "free", 1),
        ("p", "estimated", 1),
        ("p", "unpriced", 1),
        ("q", "priced", 0),
        ("q", "assumed", 0),
        ("q", "free", 0),
        ("q", "estimated", 0),
        ("q", "unpriced", 1),
    ]
    assert trust["sentence"] == (
        "60 % of the calls have a price of their own or are free; 20 % have none, among"
        " them 1 call at $0 without an explanation."
    )
