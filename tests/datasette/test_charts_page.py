"""The cost review as a page: its words, where they lead, and ledgers of every kind."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import reports
from support import old_ledger
from support.cost_review import JOB, JULY, NAMES, PATH, figure, fill, review
from support.datasette_site import Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]


@pytest.fixture(autouse=True)
def days_are_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def filled(ledger: Path) -> Path:
    fill(ledger)
    return ledger


def test_the_page_says_what_its_json_does(sites: Sites, filled: Path) -> None:
    site = sites(filled)
    page = site.page(f"{PATH}?{JULY}")
    change = "+240 % (+$3.00) against 1-3 June 2026 (recorded from 2 June)"
    assert f"Spent ≥ $4.25 {change}, counting calls with a price only" in page.text
    assert "1 without a price: totals are lower bounds" in page.text
    for words in review(site)["figures"]:
        assert words["title"] in page.text
        assert words["sentence"] in page.text
    assert "Spend by day and model: ≥ $4.25" in page.text
    assert "What the prompt cache saved: saved $4.50" in page.text


def test_each_figure_leads_to_its_rows(sites: Sites, filled: Path) -> None:
    site = sites(filled)
    page = site.page(f"{PATH}?{JULY}&profile=")
    addresses = [address for words, address in page.links if words == "JSON"]
    assert len(addresses) == len(NAMES)
    rows = site.rows(addresses[0])
    assert sum(row["cost_usd"] or 0 for row in rows) == 4.25
    explore = [address for words, address in page.links if words == "Explore"]
    assert explore[0].endswith(
        f"/telemetry/cost_by_day_and_model?{JULY}#g.mark=bar&g.x_column=day&g.x_type=ordinal"
        "&g.y_column=cost_usd&g.y_type=quantitative&g.color_column=model"
    )
    for words in ("Explore", "CSV", "SQL"):
        for address in [found for said, found in page.links if said == words]:
            site.get(address.partition("#")[0])
    assert page.address_of(JOB) == (
        f"/telemetry/cron_runs?{JULY}&cron_job_id={JOB}#g.mark=bar&g.x_column=session_id"
        "&g.x_type=ordinal&g.y_column=total_usd&g.y_type=quantitative"
    )


def test_the_calls_of_a_period_are_read_once(
    sites: Sites, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = sites(filled)
    asked: Counter[tuple[str, str]] = Counter()

    def run(conn: sqlite3.Connection, query: reports.Query, given: Any, *more: Any) -> Any:
        asked[query.name, given["since"]] += 1
        return answer(conn, query, given, *more)

    answer = reports.run
    monkeypatch.setattr(reports, "run", run)
    review(site)
    # Three figures are made of the costs by day and model, two of them beside those of June.
    assert asked.pop(("cost_by_day_and_model", "2026-06-01")) == 1
    assert asked == {
        (name, "2026-07-01"): 1
        for name in (
            "cost_by_day_and_model",
            "cron_attribution",
            "cost_by_session",
            "cache_savings",
            "failed_attempts",
            "estimated_share",
        )
    }


def test_the_months_beside_are_links(sites: Sites, filled: Path) -> None:
    page = sites(filled).page(f"{PATH}?{JULY}&profile=work")
    for words, days in (
        ("June 2026", "since=2026-06-01&until=2026-06-30"),
        ("August 2026", "since=2026-08-01&until=2026-08-31"),
    ):
        assert page.address_of(words) == f"{PATH}?{days}&profile=work"


def test_of_an_empty_ledger_it_says_what_is_missing(sites: Sites, ledger: Path) -> None:
    site = sites(ledger)
    said = review(site)
    assert (said["total_usd"], said["calls"], said["change_usd"], said["change_pct"]) == (
        0.0,
        0,
        0.0,
        None,
    )
    assert {(figure["total"], len(figure["rows"])) for figure in said["figures"]} == {(None, 0)}
    page = site.page(f"{PATH}?{JULY}")
    assert "Nothing is recorded yet: hermes-telemetry doctor" in page.text
    assert "<picture>" not in page.html


def test_a_profile_has_its_own_review(sites: Sites, filled: Path) -> None:
    with closing(HandMadeLedger(filled)) as made:
        made.run("w", "2026-07-03T10:00", profile="work")
        made.call("w", 8.0, "2026-07-03T10:00", model="w")
    site = sites(filled)
    assert {row["model"] for row in figure(site, "spend", f"{JULY}&profile=work")["rows"]} == {"w"}
    assert review(site, f"{JULY}&profile=work")["total_usd"] == 8.0
    assert review(site)["total_usd"] == 12.25


def test_an_older_file_has_a_page_that_names_the_command(sites: Sites, tmp_path: Path) -> None:
    site = sites(old_ledger.build(tmp_path / "telemetry.db", 1))
    page = site.page(f"{PATH}?since=all")
    assert "This file lacks what the figure needs: hermes-telemetry migrate adds it." in page.text
    assert review(site, "since=all")["figures"][0]["total"] is None


@pytest.mark.parametrize("at", ["0001-01-02T10:00:00", "9999-12-31T10:00:00", "no time", ""])
def test_a_time_that_no_clock_shows_spoils_no_figure(sites: Sites, filled: Path, at: str) -> None:
    with closing(HandMadeLedger(filled)) as made:
        made.call("odd", 2.0, "2026-07-03T10:00", model="odd", tokens_in=1)
        made.failure("odd", "2026-07-03T10:00")
        for table in ("llm_calls", "llm_call_errors"):
            made.change(f"update {table} set ts = ? where session_id = 'odd'", at)
    site = sites(filled)
    for period in ("since=all", JULY):
        said = review(site, period)
        site.get(f"{PATH}/spend.svg?{period}")
        site.get(f"{PATH}/running_total.svg?{period}")
    assert said["total_usd"] == 4.25
