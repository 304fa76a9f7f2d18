"""What all pages under /-/telemetry have in common: who sees them, which ledger they show."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store import migrations
from hermes_telemetry_datasette.views.frame import TABS
from hermes_telemetry_datasette.views.routes import ROUTES
from support.datasette_site import Page, Site
from support.ledger import HandMadeLedger

Sites = Callable[..., Site]

PRUNE = "/-/telemetry/prune"
PATHS = [path for _, path in TABS]
TWINS = [path + end for path in PATHS for end in ("", ".json")]


def only(actor: str) -> dict[str, Any]:
    """The arguments by which a user lets `actor` alone see anything."""
    return {"metadata": {"allow": {"id": actor}}}


def test_every_page_has_its_tab_and_its_twin() -> None:
    for path in TWINS:
        assert sum(bool(re.match(route, path)) for route, _ in ROUTES) == 1, path


@pytest.mark.parametrize("path", TWINS)
def test_an_allow_of_the_whole_instance_holds(sites: Sites, ledger: Path, path: str) -> None:
    site = sites(ledger, **only("ann"))
    asked = f"{path}?before=1d" if path.startswith(PRUNE) else path
    for actor in (None, "bob"):
        refused = site.get(asked, actor=actor, status=403)
        assert refused.headers["content-type"].startswith(
            "application/json" if path.endswith(".json") else "text/html"
        )
        assert "data to" not in refused.text
    site.get(asked, actor="ann")


@pytest.mark.parametrize("path", TWINS)
def test_an_allow_of_the_database_holds(sites: Sites, ledger: Path, path: str) -> None:
    site = sites(ledger, metadata={"databases": {"telemetry": {"allow": {"id": "ann"}}}})
    asked = f"{path}?before=1d" if path.startswith(PRUNE) else path
    site.get(asked, status=403)
    site.get(asked, actor="ann")


def test_who_may_see_one_of_two_ledgers_sees_that(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    migrations.migrate(other)
    site = sites(ledger, other, metadata={"databases": {"telemetry": {"allow": {"id": "ann"}}}})
    path = f"{PRUNE}.json?before=1d"
    assert site.get(path).json()["database"] == "other"
    assert site.get(path, actor="ann").json()["database"] == "telemetry"
    assert site.get(f"{path}&database=other", actor="ann").json()["database"] == "other"
    site.get(f"{path}&database=telemetry", status=403)
    assert "telemetry" not in Page(site.get(PRUNE).text).text.replace("Telemetry", "")


def test_the_period_of_another_page_is_carried_on(sites: Sites, ledger: Path) -> None:
    page = sites(ledger).page(f"{PRUNE}?before=1d&since=2026-01-01&profile=work")
    assert page.address_of("Prune") == f"{PRUNE}?since=2026-01-01&profile=work"
    assert '<input type="hidden" name="profile" value="work">' in page.html


def test_a_database_that_is_no_ledger_has_no_pages(sites: Sites, tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table unrelated (x)")
    site = sites(path)
    for page in TWINS:
        site.get(page, status=404)
        site.get(f"{page}?database=telemetry", status=404)
    migrations.migrate(path)
    site.get(PRUNE)


def test_a_name_that_is_none_is_shown_as_text(sites: Sites, ledger: Path) -> None:
    answer = sites(ledger).get(f"{PRUNE}?database=%3Cscript%3Ealert(1)", status=404)
    assert "<script>alert" not in answer.text
    said = sites(ledger).get(f"{PRUNE}.json?database=nowhere", status=404).json()
    assert said == {
        "ok": False,
        "error": "'nowhere' is not an attached ledger",
        "errors": ["'nowhere' is not an attached ledger"],
        "status": 404,
    }


@pytest.mark.parametrize("path", PATHS)
def test_a_page_may_load_nothing_from_elsewhere(sites: Sites, ledger: Path, path: str) -> None:
    answer = sites(ledger).get(path)
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'self'" in policy
    assert "img-src 'self' data:" in policy
    assert "frame-ancestors 'none'" in policy
    assert "//" not in "".join(policy)


@pytest.mark.parametrize("base_url", ["/", "/below/"])
def test_the_stylesheet_is_served_under_an_address_of_its_contents(
    sites: Sites, ledger: Path, base_url: str
) -> None:
    site = sites(ledger, settings={"base_url": base_url})
    html = site.get(PRUNE).text
    (address,) = re.findall(r'href="([^"]+/telemetry\.css\?[0-9a-f]{12})"', html)
    assert address.startswith(f"{base_url}-/static-plugins/hermes-telemetry/")
    # Datasette's client puts the base before it.
    sheet = site.get("/" + address.removeprefix(base_url))
    assert "--tm-series-5" in sheet.text


def test_the_head_says_zone_and_how_far_the_data_go(sites: Sites, ledger: Path) -> None:
    zone = {"metadata": {"plugins": {"hermes-telemetry": {"timezone": "Europe/Madrid"}}}}
    site = sites(ledger, **zone)
    assert "Europe/Madrid data to –" in site.page(PRUNE).text
    with closing(HandMadeLedger(ledger)) as made:
        made.call("s", 1.0, at="2024-06-30T22:30:05+00:00")
        made.tool("s", "read_file", at="2024-06-30T21:00:00")
    # Half past midnight of the next day in Madrid.
    assert "Europe/Madrid data to 1 Jul 2024 00:30:05" in site.page(PRUNE).text


def test_a_time_that_is_none_is_shown_as_it_stands(sites: Sites, ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute(
            "insert into tool_calls (session_id, ts, tool_name) values ('s','x','t')"
        )
    assert "data to x" in sites(ledger).page(PRUNE).text


def test_an_older_file_says_what_it_lacks(sites: Sites, tmp_path: Path) -> None:
    from support import old_ledger

    old = old_ledger.build(tmp_path / "old.db", 12)
    assert f"hermes-telemetry migrate --db {old}" in sites(old).page(PRUNE).text
