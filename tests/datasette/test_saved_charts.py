"""Saving, renaming and deleting charts over HTTP: who may, what is kept, what is refused."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from support.datasette_site import Page
from support.saved_charts import (
    ANN_MAY,
    CHART,
    FRAGMENT,
    REVIEW,
    SAVE,
    four_calls,
    kept,
    post,
    save,
    shown,
    words_of,
)
from support.web_actors import Web, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Path]]:
    """A server on the four calls, where ann may save charts, and its ledger."""
    ledger = four_calls(tmp_path_factory.mktemp("served") / "telemetry.db")
    with serving(ledger, configuration=ANN_MAY, folder=ledger.parent) as web:
        yield web, ledger


@pytest.fixture
def web(served: tuple[Web, Path]) -> Web:
    """That server, without a saved chart."""
    web, ledger = served
    for id, _ in kept(ledger):
        assert post(web, "root", f"{SAVE}/{id}/delete").status_code == 200
    return web


@pytest.fixture
def ledger(served: tuple[Web, Path], web: Web) -> Path:
    return served[1]


# --- who may


@pytest.mark.parametrize("shape", ["form", "JSON"])
@pytest.mark.parametrize("actor", [None, "stranger", "ann", "root"])
def test_who_may_save_rename_and_delete(
    web: Web, ledger: Path, actor: str | None, shape: str
) -> None:
    id = save(web)
    may = actor in ("ann", "root")
    refusal = 403, [(id, "What days cost")]
    done = 302 if shape == "form" else 200

    renamed = post(web, actor, f"{SAVE}/{id}/rename", shape, title="Days")
    titled = done, [(id, "Days")]
    assert (renamed.status_code, kept(ledger)) == (titled if may else refusal)

    deleted = post(web, actor, f"{SAVE}/{id}/delete", shape)
    assert (deleted.status_code, kept(ledger)) == ((done, []) if may else refusal)

    before = len(kept(ledger))
    saved = post(web, actor, SAVE, shape, **CHART)
    created = 302 if shape == "form" else 201
    assert (saved.status_code, len(kept(ledger)) - before) == ((created, 1) if may else (403, 0))
    for refused in [] if may else [renamed, deleted, saved]:
        assert "telemetry-save-chart on telemetry is not allowed for you" in refused.text


def test_root_may_where_nobody_is_named(tmp_path: Path) -> None:
    ledger = four_calls(tmp_path / "telemetry.db")
    with serving(ledger, folder=tmp_path) as web:
        assert post(web, "ann", **CHART).status_code == 403
        assert kept(ledger) == []
        assert not ledger.with_name("saved_charts.db").exists()
        save(web, "root")
        assert len(kept(ledger)) == 1


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_of_another_site_changes_nothing(
    web: Web, ledger: Path, headers: dict[str, str]
) -> None:
    id = save(web)
    for path, fields in (
        (SAVE, CHART),
        (f"{SAVE}/{id}/rename", {"title": "x"}),
        (f"{SAVE}/{id}/delete", {}),
    ):
        answer = web.ask("POST", path, "ann", form=fields, headers=headers)
        assert answer.status_code == 403
    assert kept(ledger) == [(id, "What days cost")]


def test_a_form_comes_back_to_the_saved_charts_and_says_what_was_done(web: Web) -> None:
    id = save(web)
    period = "?since=2026-07-01&until=2026-07-31"
    answer = post(web, "ann", f"{SAVE}/{id}/rename{period}", "form", title="Days")
    assert answer.headers["location"] == f"{REVIEW}{period}#tm-saved"
    told = {**web.cookies("ann"), "ds_messages": answer.cookies["ds_messages"]}
    page = httpx.get(f"{web.client.base_url}{REVIEW}", cookies=told)
    assert "Renamed: Days" in Page(page.text).text


def test_only_a_post_does_anything(web: Web, ledger: Path) -> None:
    id = save(web)
    for path in (SAVE, f"{SAVE}.json", f"{SAVE}/{id}/rename", f"{SAVE}/{id}/delete"):
        for method in ("GET", "PUT", "DELETE"):
            answer = web.ask(method, path, "ann")
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert kept(ledger) == [(id, "What days cost")]


# --- what is kept


def test_the_pieces_are_kept_each_in_its_column(web: Web, ledger: Path) -> None:
    asked = "?since=2026-07-01&until=&session_id=s&profile=&_hide_sql=1&strange=x&session_id=t"
    chart = "g.mark=line&g.x_column=turn_id&g.x_type=nominal&g.y_column=total_usd"
    chart += "&g.y_type=quantitative-bin&g.color_column=session_id&g.size_column=calls"
    id = save(
        web,
        title="  Turns \n of s ",
        path="/telemetry/cost_per_turn",
        parameters=asked,
        fragment=chart,
    )
    with closing(sqlite3.connect(ledger.with_name("saved_charts.db"))) as connection:
        connection.row_factory = sqlite3.Row
        (row,) = map(dict, connection.execute("select * from saved_charts"))
    assert row.pop("saved_at").endswith("+00:00")
    # The period is the page's, the first of several counts, and the query takes nothing strange.
    assert row == {
        "id": id,
        "title": "Turns of s",
        "database": "telemetry",
        "query": "cost_per_turn",
        "parameters": '{"session_id": "s"}',
        "mark": "line",
        "x_column": "turn_id",
        "x_type": "nominal",
        "y_column": "total_usd",
        "y_type": "quantitative-bin",
        "color_column": "session_id",
        "size_column": "calls",
    }


def test_the_file_is_a_database_of_its_own_that_can_be_queried(web: Web, ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        before = connection.execute("select * from sqlite_master").fetchall()
    save(web)
    (row,) = web.ask("GET", "/saved_charts/saved_charts.json?_shape=array").json()
    assert (row["title"], row["database"]) == ("What days cost", "telemetry")
    file = ledger.with_name("saved_charts.db")
    # Bytes 18 and 19 of a SQLite file: 1 is a rollback journal, 2 is WAL.
    assert file.read_bytes()[18:20] == b"\1\1"
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("select * from sqlite_master").fetchall() == before


def test_an_id_is_not_used_again(web: Web) -> None:
    first = save(web)
    post(web, "ann", f"{SAVE}/{first}/delete")
    assert save(web) > first
    assert post(web, "ann", f"{SAVE}/{first}/rename", title="x").status_code == 404
    assert post(web, "ann", f"{SAVE}/{first}/delete").status_code == 404


def test_titles_of_any_script_are_shown_as_text(web: Web) -> None:
    titles = ['<script>alert(1)</script> & "quoted"', "هزینه‌ها", "費用 👨‍👩‍👧", "x" * 120]
    for title in titles:
        save(web, title=title)
    assert [chart["title"] for chart in shown(web)] == titles
    page = web.ask("GET", REVIEW, "ann")
    assert "<script>alert(1)" not in page.text
    for title in titles:
        assert title in Page(page.text).text


# --- what is refused


def with_(**parts: str) -> str:
    """The fragment with other parts: None leaves one out."""
    said = dict(part.split("=") for part in FRAGMENT.split("&"))
    said |= {f"g.{name}": value for name, value in parts.items()}
    return "&".join(f"{name}={value}" for name, value in said.items() if value != "-")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"path": "http://127.0.0.1/telemetry/cost_by_day"}, "is not a path of this server"),
        ({"path": "//evil.example/telemetry/cost_by_day"}, "is not a path of this server"),
        ({"path": "javascript:alert(1)"}, "is not a path of this server"),
        ({"path": "telemetry/cost_by_day"}, "is not a path of this server"),
        ({"path": "/telemetry/cost_by_day?model=a"}, "is not a path of this server"),
        ({"path": "/telemetry/cost_by_day#x"}, "is not a path of this server"),
        ({"path": "/telemetry"}, "telemetry has no query ''"),
        ({"path": "/telemetry/llm_calls"}, "telemetry has no query 'llm_calls'"),
        ({"path": "/telemetry/llm_calls/1"}, "telemetry has no query 'llm_calls/1'"),
        ({"path": "/telemetry/cost_by_day.json"}, "telemetry has no query 'cost_by_day.json'"),
        ({"path": "/telemetry/-/query"}, "telemetry has no query '-/query'"),
        ({"path": "/elsewhere/cost_by_day"}, "is not a query of the ledger telemetry"),
        ({"path": "/-/telemetry"}, "is not a query of the ledger telemetry"),
        ({"fragment": ""}, "'' is not part of a chart"),
        ({"fragment": "x=1"}, "'x=1' is not part of a chart"),
        ({"fragment": FRAGMENT + "&g.theme=dark"}, "'g.theme=dark' is not part of a chart"),
        ({"fragment": FRAGMENT + "&g.mark=line"}, "g.mark is given twice"),
        ({"fragment": with_(mark="area")}, "g.mark: 'area' is none of bar, line, circle"),
        ({"fragment": with_(x_type="geojson")}, "g.x_type: 'geojson' is none of"),
        ({"fragment": with_(y_column="-")}, "g.y_column: a chart needs it"),
        ({"fragment": with_(y_column="")}, "g.y_column is not the name of a column"),
        ({"fragment": with_(y_column="%0A")}, "g.y_column is not the name of a column"),
        ({"fragment": with_(y_column="%ff")}, "can't decode byte 0xff"),
        ({"fragment": with_(y_column="x" * 201)}, "g.y_column is not the name of a column"),
        ({"fragment": with_(y_column="euro")}, "the query has no column euro"),
        ({"fragment": with_(color_column="euro")}, "the query has no column euro"),
        ({"title": " \n "}, "it needs a title"),
        ({"title": "x" * 121}, "its title has more than 120 characters"),
        ({"title": "a\x00b"}, r"its title contains the character '\x00'"),
        ({"title": "abc\u202edef"}, r"its title contains the character '\u202e'"),
        ({"parameters": "profile=" + "x" * 1000}, "the parameter 'profile' is longer than 1000"),
        ({"parameters": "&".join(f"a{n}=1" for n in range(21))}, "Max number of fields exceeded"),
        (
            {"path": "/telemetry/ledger_growth", "parameters": "?months=many"},
            "months: 'many' is not a number",
        ),
    ],
)
def test_what_is_no_chart_of_a_query_is_not_saved(
    web: Web, ledger: Path, changes: dict[str, str], why: str
) -> None:
    answer = post(web, "ann", **{**CHART, **changes})
    assert answer.status_code == 400
    assert "the chart is not saved: " in words_of(answer)
    assert why in words_of(answer)
    assert kept(ledger) == []


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"content": b"\xff"}, "the body cannot be read"),
        ({"content": b"title=a&title=b"}, "a field is given twice"),
        ({"json": ["title"]}, "it is not a JSON object of texts"),
        ({"json": {**CHART, "title": 1}}, "it is not a JSON object of texts"),
        ({"json": {"title": "x"}}, "path, parameters, fragment: required"),
        ({"json": {**CHART, "id": "1"}}, "id: not a field of this request"),
        (
            {"content": b'{"title": "\\ud800"}', "headers": {"content-type": "application/json"}},
            "the body cannot be read",
        ),
    ],
)
def test_a_body_that_says_something_else_is_refused(
    web: Web, ledger: Path, sent: dict[str, object], why: str
) -> None:
    form = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    sent = {"headers": form, **sent} if "content" in sent else sent
    answer = web.ask("POST", SAVE, "ann", **sent)  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert why in words_of(answer)
    assert kept(ledger) == []


@pytest.mark.parametrize(("title", "why"), [("", "it needs"), ("x" * 121, "its title has")])
def test_a_chart_is_not_renamed_to_anything(web: Web, ledger: Path, title: str, why: str) -> None:
    id = save(web)
    answer = post(web, "ann", f"{SAVE}/{id}/rename", title=title)
    assert answer.status_code == 400
    assert f"the chart is not renamed: {why}" in words_of(answer)
    assert kept(ledger) == [(id, "What days cost")]


# --- who is offered to save


def offered(web: Web, path: str, actor: str | None = "ann") -> bool:
    answer = web.ask("GET", path, actor)
    assert answer.status_code == 200
    return f'"save": "{SAVE}?database=telemetry"' in answer.text


def test_the_offer_stands_on_named_queries_for_whom_it_works(web: Web) -> None:
    assert offered(web, "/telemetry/cost_by_day")
    assert offered(web, "/telemetry/cost_by_day?since=all")
    for actor in (None, "stranger"):
        assert not offered(web, "/telemetry/cost_by_day", actor)
    save(web)
    for path in (
        "/",
        "/telemetry",
        "/telemetry/llm_calls",
        "/telemetry/llm_calls/1",
        "/telemetry?sql=select+1",
        "/saved_charts/saved_charts",
        REVIEW,
    ):
        answer = httpx.get(
            f"{web.client.base_url}{path}", cookies=web.cookies("ann"), follow_redirects=True
        )
        assert (path, answer.status_code) == (path, 200)
        assert '"save": ' not in answer.text, path
