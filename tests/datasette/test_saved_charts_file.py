"""The file of saved charts: after a restart, in a directory that is read-only, damaged, locked."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hermes_telemetry.commands.cli import main
from support.datasette_site import Page
from support.saved_charts import (
    ANN_MAY,
    CHART,
    REVIEW,
    SAVE,
    four_calls,
    kept,
    own_query,
    post,
    save,
    shown,
    words_of,
)
from support.web_actors import Web, serving


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return four_calls(tmp_path / "ledger" / "telemetry.db")


@pytest.fixture
def file(ledger: Path) -> Path:
    return ledger.with_name("saved_charts.db")


@contextmanager
def served(ledger: Path, *more: str | Path) -> Iterator[Web]:
    folder = ledger.parent.parent
    with serving(ledger, *more, configuration=ANN_MAY, folder=folder) as web:
        yield web


def test_it_is_made_when_the_first_chart_is_saved(ledger: Path, file: Path) -> None:
    with served(ledger) as web:
        assert shown(web) == []
        assert "None yet." in Page(web.ask("GET", REVIEW, "ann").text).text
        assert post(web, "ann", f"{SAVE}/1/delete").status_code == 404
        assert not file.exists()
        save(web)
        assert file.exists()


def test_a_chart_is_there_after_a_restart(ledger: Path) -> None:
    with served(ledger) as web:
        id = save(web)
    with served(ledger) as web:
        (chart,) = shown(web)
        assert (chart["id"], chart["title"]) == (id, "What days cost")
        rows = web.ask("GET", "/saved_charts/saved_charts.json?_shape=array").json()
        assert [row["title"] for row in rows] == ["What days cost"]
        post(web, "ann", f"{SAVE}/{id}/rename", title="Days")
    with served(ledger) as web:
        assert [chart["title"] for chart in shown(web)] == ["Days"]


def test_named_on_the_command_line_it_is_attached_once(ledger: Path, file: Path) -> None:
    with served(ledger) as web:
        save(web)
    with served(ledger, file) as web:
        assert web.ask("GET", "/saved_charts").status_code == 200
        assert web.ask("GET", "/saved_charts_2").status_code == 404
        save(web)
        assert len(shown(web)) == 2
    with served(ledger, "-i", file) as web:
        answer = post(web, "ann", **CHART)
        assert answer.status_code == 403
        assert "not saved: saved_charts.db is served as immutable" in words_of(answer)
        assert len(shown(web)) == 2


def test_another_database_of_that_name_stays_what_it_is(ledger: Path, tmp_path: Path) -> None:
    another = tmp_path / "saved_charts.db"
    with closing(sqlite3.connect(another)) as connection:
        connection.execute("create table saved_charts (mine)")
    with served(ledger, another) as web:
        save(web)
        assert web.ask("GET", "/saved_charts/saved_charts.json?_shape=array").json() == []
        (row,) = web.ask("GET", "/saved_charts_2/saved_charts.json?_shape=array").json()
        assert row["title"] == "What days cost"


@pytest.mark.parametrize("has_charts", [True, False])
def test_in_a_read_only_directory_the_list_works_and_saving_says_why_it_cannot(
    ledger: Path, file: Path, has_charts: bool
) -> None:
    if has_charts:
        with served(ledger) as web:
            save(web)
    before = kept(ledger)
    # A WAL ledger opens in a read-only directory only while a recorder has it open.
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("pragma journal_mode = delete")
    for one in ledger.parent.iterdir():
        one.chmod(0o444)
    ledger.parent.chmod(0o555)
    try:
        with served(ledger) as web:
            assert [chart["total"] for chart in shown(web)] == [0.875] * has_charts
            answers = [post(web, "ann", **CHART)]
            if has_charts:
                answers.append(post(web, "ann", f"{SAVE}/1/rename", title="x"))
                answers.append(post(web, "ann", f"{SAVE}/1/delete"))
            for answer in answers:
                assert answer.status_code == 403
                assert f"saved_charts.db cannot be written in {ledger.parent}: " in words_of(answer)
            assert kept(ledger) == before
            # Nothing of it stays behind: what can be written again, is.
            ledger.parent.chmod(0o755)
            for one in ledger.parent.iterdir():
                one.chmod(0o644)
            save(web)
            assert len(kept(ledger)) == len(before) + 1
    finally:
        ledger.parent.chmod(0o755)


def test_a_damaged_file_is_told_of_and_breaks_nothing_else(ledger: Path, file: Path) -> None:
    file.write_bytes(b"this is no database, whatever its name says" * 100)
    with served(ledger) as web:
        page = web.ask("GET", REVIEW, "ann")
        assert page.status_code == 200
        assert "saved_charts.db cannot be read: file is not a database" in Page(page.text).text
        answer = post(web, "ann", **CHART)
        assert answer.status_code == 403
        assert "not saved: saved_charts.db cannot be written" in words_of(answer)
        assert post(web, "ann", f"{SAVE}/1/delete").status_code == 403
        assert web.ask("GET", "/telemetry").status_code == 200


def test_a_row_that_somebody_else_wrote_is_told_of(ledger: Path, file: Path) -> None:
    with served(ledger) as web:
        id = save(web)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("update saved_charts set mark = 'pie'")
        (chart,) = shown(web)
        assert chart["error"] == "It cannot be drawn: a chart is one of bar, line, circle."
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("update saved_charts set parameters = 'none'")
        page = Page(web.ask("GET", REVIEW, "ann").text)
        assert f"saved_charts.db cannot be read: the parameters of chart {id} are" in page.text


def test_a_locked_file_says_when_to_come_back(ledger: Path, file: Path) -> None:
    with served(ledger) as web:
        id = save(web)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("begin immediate")
            answer = post(web, "ann", f"{SAVE}/{id}/rename", title="x")
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert "not renamed: saved_charts.db cannot be written" in words_of(answer)
            assert len(shown(web)) == 1
        assert post(web, "ann", f"{SAVE}/{id}/rename", title="x").status_code == 200


def test_below_a_prefix_the_path_must_be_below_it_too(ledger: Path) -> None:
    with served(ledger, "--setting", "base_url", "/below/") as web:
        address = f"/below{SAVE}"
        outside = post(web, "ann", address, **CHART)
        assert "'/telemetry/cost_by_day' is not a path of this server" in words_of(outside)
        save(web, address=address, path="/below/telemetry/cost_by_day")
        (chart,) = web.ask("GET", f"/below{REVIEW}.json?since=all").json()["saved"]
        assert chart["total"] == 0.875
        page = web.ask("GET", f"/below{REVIEW}?since=all", "ann").text
        assert f'action="/below{SAVE}/{chart["id"]}/delete' in page
        offer = web.ask("GET", "/below/telemetry/cost_by_day", "ann").text
        assert f'"save": "/below{SAVE}?database=telemetry"' in offer
        script = offer.split('import begin from "')[1].split('"')[0]
        assert web.ask("GET", script).headers["content-type"].startswith("text/javascript")
        done = post(web, "ann", f"/below{SAVE}/{chart['id']}/delete", "form")
        assert done.headers["location"] == f"/below{REVIEW}#tm-saved"


MEMORY = """
from datasette import hookimpl

@hookimpl
async def startup(datasette):
    database = datasette.add_memory_database("telemetry")
    for table in ("runs", "llm_calls"):
        await database.execute_write(f"create table {table} (session_id, ts)")
"""


def test_a_ledger_in_memory_has_no_place_for_charts(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    query = own_query("own", "select 'x' as day, 1 as cost_usd")
    (plugins / "memory.py").write_text(MEMORY, encoding="utf-8")
    options = ("--memory", "--plugins-dir", plugins)
    with serving(*options, configuration=query, folder=tmp_path) as web:
        answer = post(web, "ann", **{**CHART, "path": "/telemetry/own"})
        assert answer.status_code == 403
        assert "not saved: a ledger in memory has no directory" in words_of(answer)
        assert shown(web) == []


def test_reports_in_files_have_the_saved_charts_too(ledger: Path, tmp_path: Path) -> None:
    rules = own_query("own", "select 'x' as day, 2 as cost_usd")
    with serving(ledger, configuration=rules, folder=tmp_path) as web:
        save(web)
        save(web, title="Mine", path="/telemetry/own")
        served = web.ask("GET", f"{REVIEW}/review.html?since=2026-07-01&until=2026-07-31").text
    out, pictures = tmp_path / "july.html", tmp_path / "pictures"
    command = ["report", "--db", str(ledger), "--month", "2026-07", "--out", str(out)]
    assert main([*command, "--png", str(pictures)]) == 0
    made = out.read_text(encoding="utf-8")
    for html in (served, made):
        # 0.875 to the cent, and one call has no price.
        assert "What days cost: ≥ $0.88" in Page(html).text
    assert "Mine: 2" in Page(served).text
    # What a user has put into Datasette's configuration, only Datasette knows.
    assert "Mine Its query 'own' is not one that comes with the ledger." in Page(made).text
    assert (pictures / "saved_1.png").read_bytes().startswith(b"\x89PNG")
    assert not (pictures / "saved_2.png").exists()
    for html in (served, made):
        assert "saved_charts/saved" not in html
        assert "<form" not in html
