"""A server on loopback answers to names of this machine alone: DNS rebinding reads nothing."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store import migrations
from support.datasette_site import Site, served

Sites = Callable[..., Site]

ROUTES = [
    "/",
    "/.json",
    "/telemetry",
    "/telemetry.json",
    "/telemetry/llm_calls",
    "/telemetry/llm_calls.csv",
    "/telemetry/cost_by_day.json?_shape=array",
    "/telemetry.json?sql=select+1",
    "/-/telemetry/prune",
    "/-/telemetry/prune.json?before=1d",
    "/-/versions.json",
    "/-/static/app.css",
    "/nowhere",
]

ON_LOOPBACK = ("127.0.0.1", 8001)


def answer(
    site: Site, *hosts: str, server: object = ON_LOOPBACK, path: str = "/-/versions.json"
) -> int:
    """The status of a GET that came in at `server` with these Host headers."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", host.encode("latin-1")) for host in hosts],
        "server": server,
        "client": ("127.0.0.1", 50000),
    }
    site.run(site.datasette.app()(scope, receive, send))
    return int(sent[0]["status"])


def with_hosts(*names: str) -> dict[str, Any]:
    """The arguments by which a user sets `allowed_hosts`."""
    return {"metadata": {"plugins": {"hermes-telemetry": {"allowed_hosts": list(names)}}}}


def test_another_host_is_misdirected_on_every_route(ledger: Path) -> None:
    with served(ledger) as client:
        for route in ROUTES:
            evil = client.get(route, headers={"host": "evil.example"})
            assert (route, evil.status_code) == (route, 421)
            assert "llm_calls" not in evil.text
        for method in ("POST", "DELETE", "OPTIONS", "HEAD"):
            evil = client.request(
                method, "/-/telemetry/prune?before=1d", headers={"host": "evil.example:8001"}
            )
            assert evil.status_code == 421
        assert client.get("/telemetry/llm_calls.json").status_code == 200


def test_the_answer_names_the_host_and_the_setting_in_the_shape_asked_for(ledger: Path) -> None:
    with served(ledger) as client:
        evil = {"host": "evil.example"}
        page = client.get("/telemetry", headers=evil)
        assert page.headers["content-type"].startswith("text/plain")
        said = client.get("/telemetry.json", headers=evil).json()
        assert (said["ok"], said["status"], said["error"]) == (False, 421, page.text)
        assert "'evil.example'" in page.text
        assert '{"plugins": {"hermes-telemetry": {"allowed_hosts": ["..."]}}}' in page.text


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8001", "127.8.9.10", "localhost", "localhost:8001", "LocalHost."]
    + ["[::1]", "[::1]:8001", "[::ffff:127.0.0.1]:80", "telemetry.localhost", "localhost:"],
)
def test_this_machines_own_names_are_let_in(sites: Sites, ledger: Path, host: str) -> None:
    assert answer(sites(ledger), host) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8001", "localhost.evil.example", "notlocalhost"]
    + ["127.0.0.1.evil.example", "192.168.0.7", "[fe80::1]", "127.0.0.1:8001@evil.example"]
    + ["localhost evil.example", "::1:8001", "[::1]evil", "0.0.0.0", "0x7f.1", "[]", ":8001"],
)
def test_other_names_are_not(sites: Sites, ledger: Path, host: str) -> None:
    assert answer(sites(ledger), host) == 421


def test_a_second_host_does_not_hide_behind_the_first(sites: Sites, ledger: Path) -> None:
    assert answer(sites(ledger), "localhost", "evil.example") == 421


def test_no_host_at_all_comes_from_no_browser(sites: Sites, ledger: Path) -> None:
    assert answer(sites(ledger)) == 200


@pytest.mark.parametrize(
    ("server", "status"),
    [
        (("127.0.0.1", 8001), 421),
        (("127.1.2.3", 8001), 421),
        (("::1", 8001), 421),
        (("::ffff:127.0.0.1", 8001), 421),
        (("localhost", None), 421),
        (("192.168.0.7", 8001), 200),
        (("10.0.0.1", 443), 200),
        (("fe80::1", 8001), 200),
        (("/run/telemetry.sock", None), 200),
        (None, 200),
    ],
)
def test_a_server_elsewhere_is_left_alone(
    sites: Sites, ledger: Path, server: object, status: int
) -> None:
    assert answer(sites(ledger), "telemetry.example", server=server) == status


@pytest.mark.parametrize(
    ("allowed", "host", "status"),
    [
        (["telemetry.example"], "telemetry.example", 200),
        (["telemetry.example"], "Telemetry.Example.:443", 200),
        (["Telemetry.Example:8443"], "telemetry.example", 200),
        (["telemetry.example"], "localhost", 200),
        (["telemetry.example"], "evil.example", 421),
        (["telemetry.example"], "sub.telemetry.example", 421),
        (["192.168.0.7"], "192.168.0.7:8001", 200),
        (["a.example", "b.example"], "b.example", 200),
        (["*"], "evil.example", 200),
        ([], "evil.example", 421),
    ],
)
def test_allowed_hosts_opens_it(
    sites: Sites, ledger: Path, allowed: list[str], host: str, status: int
) -> None:
    assert answer(sites(ledger, **with_hosts(*allowed)), host) == status


def test_one_allowed_host_may_be_written_without_brackets(sites: Sites, ledger: Path) -> None:
    one = {"metadata": {"plugins": {"hermes-telemetry": {"allowed_hosts": "telemetry.example"}}}}
    site = sites(ledger, **one)
    assert answer(site, "telemetry.example") == 200
    assert answer(site, "e") == 421


def test_without_a_ledger_nothing_is_guarded_until_there_is_one(
    sites: Sites, tmp_path: Path
) -> None:
    path = tmp_path / "telemetry.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table unrelated (x)")
    site = sites(path)
    assert answer(site, "shop.example") == 200
    migrations.migrate(path)
    assert answer(site, "shop.example") == 421
