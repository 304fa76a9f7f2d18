"""The menu has a Telemetry entry for whoever can see a ledger, and so has the ledger's page."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from hermes_telemetry.store import migrations
from support.datasette_site import Site

Sites = Callable[..., Site]


def entries(site: Site, *, actor: str | None = None) -> list[str]:
    return [address for words, address in site.page("/", actor=actor).links if words == "Telemetry"]


def only_for_ann(*databases: str) -> dict[str, Any]:
    return {"databases": {name: {"allow": {"id": "ann"}} for name in databases}}


def leads_to(site: Site, *, actor: str | None = None) -> str:
    """The ledger that is shown behind the one entry."""
    (address,) = entries(site, actor=actor)
    database: str = site.get(f"{address}.json", actor=actor).json()["database"]
    return database


def test_it_leads_to_the_overview(sites: Sites, ledger: Path) -> None:
    assert entries(sites(ledger, settings={"base_url": "/below/"})) == ["/below/-/telemetry"]


def test_with_several_it_leads_to_the_first_that_is_attached(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    migrations.migrate(other)
    assert leads_to(sites(other, ledger)) == "other"


def test_the_first_may_become_a_ledger_later(sites: Sites, ledger: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.db"
    with closing(sqlite3.connect(first)) as connection:
        connection.execute("create table unrelated (x)")
    site = sites(first, ledger)
    assert leads_to(site) == "telemetry"
    migrations.migrate(first)
    assert leads_to(site) == "first"


def test_it_leads_to_one_that_the_reader_may_see(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    migrations.migrate(other)
    site = sites(other, ledger, metadata=only_for_ann("other"))
    assert leads_to(site) == "telemetry"
    assert leads_to(site, actor="ann") == "other"


def test_who_may_see_none_has_no_entry(sites: Sites, ledger: Path) -> None:
    site = sites(ledger, metadata=only_for_ann("telemetry"))
    assert entries(site) == []
    assert leads_to(site, actor="ann") == "telemetry"


def test_without_a_ledger_there_is_none(sites: Sites, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("create table visits (id integer primary key)")
    assert entries(sites(tmp_path / "shop.db")) == []


def actions(site: Site, page: str, *, actor: str | None = None) -> list[str]:
    return [
        address
        for words, address in site.page(page, actor=actor).links
        if words == "Telemetry of this ledger"
    ]


def test_the_page_of_a_ledger_leads_to_its_own_overview(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    other = tmp_path / "an other.db"
    migrations.migrate(other)
    site = sites(ledger, other, settings={"base_url": "/below/"})
    assert actions(site, "/telemetry") == ["/below/-/telemetry?database=telemetry"]
    (address,) = actions(site, str(site.datasette.urls.database("an other"))[len("/below") :])
    # Datasette's client puts the base before it.
    found = site.get(f"{address.removeprefix('/below')}").text
    assert "<title>Telemetry · an other</title>" in " ".join(found.split())


def test_the_page_of_a_file_that_is_no_ledger_leads_nowhere(
    sites: Sites, ledger: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("create table visits (id integer primary key)")
    assert actions(sites(ledger, tmp_path / "shop.db"), "/shop") == []
