"""What Datasette does by itself stays as it is beside the plugin: ad-hoc SQL, facets, formats."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.datasette_site import KEEPS_QUERIES, Page, Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]

# 1.0 asks ad-hoc SQL on a page of its own.
SQL = "/telemetry/-/query" if KEEPS_QUERIES else "/telemetry"
STATEMENT = "select+model,+count(*)+as+calls+from+llm_calls+group+by+model+order+by+model"


@pytest.fixture(params=[True, False], ids=["sql allowed", "no sql"])
def site(request: pytest.FixtureRequest, sites: Sites, ledger: Path) -> Site:
    """Three calls of two models, with and without the right to run SQL."""
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 0.5, model="a")
        made.call("s", 0.25, model="a")
        made.call("s", None, model="b")
    return sites(ledger, settings={"default_allow_sql": request.param})


def test_ad_hoc_sql_is_up_to_the_setting(site: Site) -> None:
    path = f"{SQL}.json?sql={STATEMENT}&_shape=array"
    if site.datasette.setting("default_allow_sql"):
        assert site.rows(path) == [{"model": "a", "calls": 2}, {"model": "b", "calls": 1}]
        csv = site.get(f"{SQL}.csv?sql={STATEMENT}").text
        assert csv.split() == ["model,calls", "a,2", "b,1"]
        assert "b" in Page(site.get(f"{SQL}?sql={STATEMENT}").text).text
    else:
        site.get(path, status=403)


def test_our_functions_are_there_for_ad_hoc_sql(site: Site) -> None:
    path = f"{SQL}.json?sql=select+telemetry_zone()+as+zone&_shape=array"
    if site.datasette.setting("default_allow_sql"):
        (row,) = site.rows(path)
        assert row["zone"]


def test_tables_are_filtered_faceted_and_sorted(site: Site) -> None:
    rows = site.rows("/telemetry/llm_calls.json?_shape=array&model=a&_sort=cost_usd")
    assert [row["cost_usd"] for row in rows] == [0.25, 0.5]
    faceted = site.get("/telemetry/llm_calls.json?_facet=model").json()
    results = faceted["facet_results"]
    results = results.get("results", results)["model"]["results"]
    assert {result["value"]: result["count"] for result in results} == {"a": 2, "b": 1}
    assert "2" in Page(site.get("/telemetry/llm_calls?_facet=model").text).text


def test_tables_and_queries_come_as_csv_and_json(site: Site) -> None:
    lines = site.get("/telemetry/llm_calls.csv?_size=max").text.splitlines()
    assert len(lines) == 1 + 3
    assert lines[0].startswith("id,session_id,ts,")
    assert site.get("/telemetry/llm_calls.csv?_stream=1").text.splitlines() == lines
    days = site.rows("/telemetry/cost_by_day.json?_shape=array&since=all")
    assert sum(day["calls"] for day in days) == 3
    assert site.get("/telemetry/cost_by_day.csv?since=all").text.count("\n") == 1 + len(days)


def test_rows_and_views_are_there(site: Site) -> None:
    (row,) = site.rows("/telemetry/llm_calls/1.json?_shape=array")
    assert row["model"] == "a"
    assert site.rows("/telemetry/session_costs.json?_shape=array")[0]["cost_usd"] == 0.75
