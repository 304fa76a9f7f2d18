"""A since or until that is no time is answered by name, on the page and in every format."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from datasette.utils import PrefixedUrlString

from support.datasette_site import KEEPS_QUERIES, Page, Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]

FAULT = (
    "since: 'tomorrow' is neither a date (2026-07-01), an ISO instant (2026-07-01T12:00:00Z),"
    " today, yesterday, week, last-week, month, last-month, an age (24h, 7d, 4w) nor all"
)


def test_the_page_says_what_the_parameter_ought_to_be(sites: Sites, ledger: Path) -> None:
    answer = sites(ledger).get("/telemetry/cost_by_day?since=tomorrow", status=400)
    assert answer.headers["content-type"].startswith("text/html")
    assert FAULT in Page(answer.text).text


@pytest.mark.parametrize("shape", ["", "&_shape=array"])
def test_json_says_it_in_datasettes_shape_of_an_error(
    shape: str, sites: Sites, ledger: Path
) -> None:
    answer = sites(ledger).get(f"/telemetry/cost_by_day.json?since=tomorrow{shape}", status=400)
    assert answer.json() == {"ok": False, "error": FAULT, "errors": [FAULT], "status": 400}


def test_another_format_says_it_as_text(sites: Sites, ledger: Path) -> None:
    answer = sites(ledger).get("/telemetry/cost_by_day.csv?since=tomorrow", status=400)
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == FAULT


@pytest.mark.parametrize("name", ["retry_storms?minutes", "ledger_growth?months"])
def test_a_number_that_is_none_is_named_likewise(name: str, sites: Sites, ledger: Path) -> None:
    asked = name.replace("?", ".csv?")
    answer = sites(ledger).get(f"/telemetry/{asked}=many", status=400)
    assert answer.text == f"{name.partition('?')[2]}: 'many' is not a number from 1 to 999,999"


def test_each_bound_that_is_none_is_named(sites: Sites, ledger: Path) -> None:
    path = "/telemetry/cost_per_turn.json?session_id=s&until=1.7.2026&since=30"
    first, second = sites(ledger).get(path, status=400).json()["errors"]
    assert first.startswith("since: '30' is neither")
    assert second.startswith("until: '1.7.2026' is neither")


def test_nothing_is_printed(sites: Sites, ledger: Path, capfd: pytest.CaptureFixture[str]) -> None:
    site = sites(ledger)
    site.get("/telemetry/cost_by_day?since=tomorrow", status=400)
    site.get("/telemetry/cost_by_day.json?until=tomorrow", status=400)
    assert capfd.readouterr() == ("", "")


def test_what_was_typed_is_shown_as_text(sites: Sites, ledger: Path) -> None:
    answer = sites(ledger).get("/telemetry/cost_by_day?since=%3Cb%3Ex%3C/b%3E", status=400)
    assert "<b>x</b>" not in answer.text
    assert "'<b>x</b>' is neither" in Page(answer.text).text


def test_it_is_so_below_a_base_url_and_for_a_name_with_odd_signs(
    sites: Sites, ledger: Path
) -> None:
    odd = ledger.rename(ledger.with_name("my ledger.v1.db"))
    site = sites(odd, settings={"base_url": "/hermes/"})
    plain = site.datasette.urls.query("my ledger.v1", "cost_by_day").removeprefix("/hermes")
    # As it arrives, and as a proxy hands it on that takes the base off.
    for path in (f"/hermes{plain}.json", f"{plain}.json"):
        bad, good = (
            PrefixedUrlString(f"{path}?_shape=array&since={s}") for s in ("tomorrow", "all")
        )
        assert site.get(bad, status=400).json()["error"] == FAULT
        assert site.get(good).json() == []


@pytest.mark.parametrize(
    "bound",
    ["since=", "since=ALL", "since=2026-07-01", "until=2026-07-01T10:00:00%2B02:00"]
    + ["since=2026-07-01T10:00:00+02:00", "since=0001-01-01T00:00:00%2B05:00"],
)
def test_a_bound_that_is_a_time_is_let_through(bound: str, sites: Sites, ledger: Path) -> None:
    assert sites(ledger).rows(f"/telemetry/cost_by_day.json?_shape=array&{bound}") == []


def test_only_queries_of_a_window_are_asked_about(sites: Sites, ledger: Path) -> None:
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 0.5, turn="t")
    site = sites(ledger)
    path = "/telemetry/turn_timeline.json?_shape=array&turn_id=t&since=tomorrow"
    assert [row["cost_usd"] for row in site.rows(path)] == [0.5]
    site.get("/telemetry/runs.json?since=tomorrow")
    site.get("/telemetry/absent?since=tomorrow", status=404)
    site.get("/absent/cost_by_day?since=tomorrow", status=404)


def test_who_may_not_see_a_ledger_is_told_only_that(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, metadata={"databases": {"telemetry": {"allow": {"id": "ann"}}}})
    path = "/telemetry/cost_by_day.json?since=tomorrow"
    assert "tomorrow" not in site.get(path, status=403).text
    assert site.get(path, actor="ann", status=400).json()["error"] == FAULT


def test_the_users_query_of_the_same_name_reads_its_parameters_itself(
    sites: Sites, ledger: Path
) -> None:
    mine: dict[str, Any] = {"cost_by_day": {"sql": "select :since as since"}}
    databases = {"databases": {"telemetry": {"queries": mine}}}
    site = sites(ledger, **({"config": databases} if KEEPS_QUERIES else {"metadata": databases}))
    path = "/telemetry/cost_by_day.json?_shape=array&since=tomorrow"
    assert site.rows(path) == [{"since": "tomorrow"}]


def test_pages_of_other_sites_may_read_it_where_datasette_allows_that(
    sites: Sites, ledger: Path
) -> None:
    answer = sites(ledger, cors=True).get("/telemetry/cost_by_day.json?since=x", status=400)
    assert answer.headers["access-control-allow-origin"] == "*"
