"""Half a million failed attempts go through the page while a recorder writes every 5 ms."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path
from support import failures
from support.datasette_site import Page
from support.four_failures import PATH
from support.live_recorder import LiveRecorder
from support.web_actors import serving

# Numbers the write transactions of Datasette's own connections: the trigger below asks for it.
COUNTER = """
from datasette import hookimpl

@hookimpl
def prepare_connection(conn):
    begun = 0

    def overhear(statement):
        nonlocal begun
        begun += statement.lower().startswith("begin")

    conn.set_trace_callback(overhear)
    conn.create_function("transaction_number", 0, lambda: begun)
"""


@pytest.mark.slow
def test_half_a_million_go_in_small_transactions_and_no_other_row(
    tmp_path: Path,
) -> None:
    path = database_path()  # where the recorder writes
    path.parent.mkdir(exist_ok=True)
    failures.build(path, 600_000)
    before = "2020-12-13T05:20:00"  # minute 500,000
    with closing(sqlite3.connect(path)) as connection:
        stay = failures.to_stay(connection, before, keep_last=20)
        there = groups(connection)
        connection.executescript(
            """
            create table deletions (number integer primary key, rows integer);
            create trigger note_deletion after delete on llm_call_errors begin
              insert into deletions values (transaction_number(), 1)
              on conflict (number) do update set rows = rows + 1;
            end;
            """
        )
    assert len(stay) == 100_000 + 6 * 20  # the newest of each group of the retired model
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "counter.py").write_text(COUNTER, encoding="utf-8")

    with serving(path, "--plugins-dir", plugins, folder=tmp_path) as web:
        rule = {"before": before, "keep_last": "20"}
        seen = web.ask("GET", PATH + ".json", "root", params=rule).json()
        with LiveRecorder() as recorder:
            done = web.ask("POST", PATH, "root", form=rule)
    assert f"{600_000 - len(stay):,} failed attempts were deleted" in Page(done.text).text

    assert seen["matching"] == 600_000 - len(stay)
    assert seen["remaining"] == len(stay)
    assert failures.ids(path) == stay
    with closing(sqlite3.connect(path)) as connection:
        left = groups(connection)
        gone = {group: rows - left.get(group, 0) for group, rows in there.items()}
        assert {
            (group["model"], group["provider"], group["status_code"]): group["rows"]
            for group in seen["groups"]
        } == {group: rows for group, rows in gone.items() if rows}
        rows = [rows for (rows,) in connection.execute("select rows from deletions")]
        assert sum(rows) == 600_000 - len(stay)
        assert max(rows) == 1000
        (calls,) = connection.execute("select count(*) from llm_calls").fetchone()
        assert calls == recorder.report.calls > 100
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    assert recorder.report.worst_ms < 900  # where a hook would have given up waiting


def groups(connection: sqlite3.Connection) -> dict[tuple[str, str, int | None], int]:
    """Rows by model, provider and status."""
    return {
        (model, provider, status): rows
        for model, provider, status, rows in connection.execute(
            "select model, provider, status_code, count(*) from llm_call_errors group by 1, 2, 3"
        )
    }
