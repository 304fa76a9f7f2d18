"""A ledger of four calls, and charts of its spend that readers save, rename and delete."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from hermes_telemetry.store import migrations
from support.ledger import HandMadeLedger
from support.web_actors import Web, may

REVIEW = "/-/telemetry/charts"
SAVE = f"{REVIEW}/saved"
# Who is named may, and nobody else: root is named too.
ANN_MAY = may("telemetry-save-chart", {"id": ["ann", "root"]})
FRAGMENT = "g.mark=bar&g.x_column=day&g.x_type=ordinal&g.y_column=cost_usd&g.y_type=quantitative"
CHART = {
    "title": "What days cost",
    "path": "/telemetry/cost_by_day",
    "parameters": "?since=2026-07-01",
    "fragment": f"#{FRAGMENT}",
}
"""What a page of Datasette posts."""


def four_calls(path: Path) -> Path:
    """$0.75 and a call without a price on 1 July 2026, $0.125 on 2 July, of two sessions."""
    path.parent.mkdir(exist_ok=True)
    migrations.migrate(path)
    with closing(HandMadeLedger(path)) as made:
        made.call("s", 0.5, "2026-07-01T12:00:00", model="a")
        made.call("s", 0.25, "2026-07-01T13:00:00", model="a")
        made.call("s", None, "2026-07-01T14:00:00", model="b")
        made.call("t", 0.125, "2026-07-02T12:00:00", model="a")
    return path


def post(
    web: Web, actor: str | None, address: str = SAVE, shape: str = "JSON", **fields: str
) -> httpx.Response:
    """What a POST of these fields is answered, as a form or as JSON."""
    if shape == "form":
        return web.ask("POST", address, actor, form=fields)
    return web.ask("POST", address, actor, json=fields)


def save(web: Web, actor: str | None = "ann", address: str = SAVE, **changes: str) -> int:
    """The id of a chart that is saved now: `CHART` with `changes`."""
    answer = post(web, actor, address, **{**CHART, **changes})
    assert answer.status_code == 201, answer.text
    id: int = answer.json()["id"]
    return id


def shown(web: Web, actor: str | None = None, **asked: str) -> list[dict[str, Any]]:
    """The saved charts that the review of all time tells `actor` of, as JSON."""
    address = httpx.URL(f"{REVIEW}.json", params={"since": "all", **asked})
    answer = web.ask("GET", str(address), actor)
    assert answer.status_code == 200, answer.text
    charts: list[dict[str, Any]] = answer.json()["saved"]
    return charts


def kept(ledger: Path) -> list[tuple[Any, ...]]:
    """Id and title of each chart in the file beside `ledger`; none without a file."""
    file = ledger.with_name("saved_charts.db")
    if not file.exists():
        return []
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("select id, title from saved_charts order by id").fetchall()


def own_query(name: str, sql: str, **about: Any) -> dict[str, Any]:
    """A configuration in which ann may save charts and the user has a query of his own."""
    named = {"title": name, "sql": sql, **about}
    databases: Mapping[str, Any] = ANN_MAY["databases"]
    return {"databases": {"telemetry": {**databases["telemetry"], "queries": {name: named}}}}


def words_of(answer: httpx.Response) -> str:
    """The error of a refusal in JSON."""
    assert answer.headers["content-type"].startswith("application/json"), answer.text
    return str(json.loads(answer.text).get("error"))
