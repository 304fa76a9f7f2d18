"""`hermes-telemetry export`: a ledger as files that other tools read."""

import csv
import io
import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import whole_files
from support import old_ledger
from support.hosts import changed_by_hand, rows
from support.ledger import HandMadeLedger
from support.processes import ROOT

Refused = Callable[..., str]

TURNS = 200_000


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, strict=True)


def read_ndjson(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "files"


def test_each_table_and_view_is_a_file(cli, book: HandMadeLedger, folder: Path) -> None:
    book.run("s", cost_usd=0.75)
    book.call("s", 0.25, turn="t", price=book.price("listed", input=3), tokens_in=10)
    book.call("s", None, turn="t", tokens_in=20)
    book.call("s", 0.5, turn="u")
    book.tool("s", "terminal")
    book.edge("child", "s")
    answer = cli("export", folder, "--db", book.path)
    assert (answer.code, answer.err) == (0, "")
    counts = {
        "runs": 1,
        "llm_calls": 3,
        "tool_calls": 1,
        "llm_call_errors": 0,
        "llm_call_prices": 1,
        "subagent_edges": 1,
        "budget_alerts": 0,
        "prices_used": 1,
        "pricing_snapshots": 0,
        "known_free_models": 0,
        "free_paid_transitions": 0,
        "model_unavailable_alerts": 0,
        "turn_costs": 2,
        "session_costs": 1,
        "daily_costs_utc": 1,
    }
    assert answer.out.splitlines() == [
        f"{folder / name}.csv: {count} rows" for name, count in counts.items()
    ]
    assert sorted(os.listdir(folder)) == sorted(f"{name}.csv" for name in counts)
    for name, count in counts.items():
        assert len(list(read_csv(folder / f"{name}.csv"))) == count
    turns = [
        (turn["turn_id"], turn["cost_usd"], turn["calls"], turn["unpriced_calls"])
        for turn in read_csv(folder / "turn_costs.csv")
    ]
    assert turns == [("t", "0.25", "2", "1"), ("u", "0.5", "1", "0")]


def test_ndjson_has_numbers_and_nulls(cli, book: HandMadeLedger, folder: Path) -> None:
    book.call("s", None, tokens_in=20)
    book.call("s", 0.1)
    cli("export", folder, "--format", "ndjson", "--db", book.path)
    unpriced, priced = read_ndjson(folder / "llm_calls.ndjson")
    assert (unpriced["cost_usd"], unpriced["tokens_in"], unpriced["turn_id"]) == (None, 20, None)
    assert priced["cost_usd"] == 0.1
    (day,) = read_ndjson(folder / "daily_costs_utc.ndjson")
    assert (day["day_utc"], day["cost_usd"], day["unpriced_calls"]) == ("2026-07-01", 0.1, 1)


HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "a\rb",
    'a "quoted", b\nnext line',
    "\u2028 ü 中",
    "'=1",
    " ",
    "",
]


def test_text_that_a_spreadsheet_would_run_is_quoted(
    cli, book: HandMadeLedger, folder: Path
) -> None:
    for text in HOSTILE:
        book.failure("s", error_message=text, duration_ms=-5)
    cli("export", folder, "--db", book.path)
    failures = list(read_csv(folder / "llm_call_errors.csv"))
    # The first eight would be formulas; the number below zero is none.
    assert [failure["error_message"] for failure in failures] == [
        *(f"'{text}" for text in HOSTILE[:8]),
        *HOSTILE[8:],
    ]
    assert {failure["duration_ms"] for failure in failures} == {"-5"}


def test_a_query_quotes_its_csv_the_same_way(cli, book: HandMadeLedger) -> None:
    book.call("s", 0.5, model="\t=1+1")
    out = cli("query", "cost_by_model", "--since", "all", "--csv", "--db", book.path).out
    assert next(csv.DictReader(io.StringIO(out, newline="")))["model"] == "'\t=1+1"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """200,000 turns of one call each, every fourth without a price, the others 0.25 USD."""
    path = tmp_path / "large.db"
    old_ledger.build(path, 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for version in range(1, 19):
            old_ledger.step(version)(connection)
        connection.execute("pragma synchronous = off")
        connection.execute(
            """
            insert into llm_calls (session_id, ts, model, provider, tokens_in, cost_usd, turn_id)
            with recursive turns(n) as (
              select 1 union all select n + 1 from turns where n < ?
            )
            select 's' || n % 100, '2026-07-01T12:00:00.000000+00:00', 'm', 'p', 3,
              iif(n % 4, 0.25, null), 't' || n
            from turns
            """,
            (TURNS,),
        )
    return path


def test_every_turn_of_a_large_ledger_is_there(cli, large: Path, folder: Path) -> None:
    answer = cli("export", folder, "--db", large)
    assert answer.code == 0
    for name in ("llm_calls", "turn_costs"):
        turns, usd, tokens, unpriced = set(), [], 0, 0
        for row in read_csv(folder / f"{name}.csv"):
            turns.add(row["turn_id"])
            tokens += int(row["tokens_in"])
            unpriced += not row["cost_usd"]
            usd.append(float(row["cost_usd"] or 0))
        assert len(turns) == len(usd) == TURNS
        # Three of four turns at 0.25 USD; three tokens each.
        assert (math.fsum(usd), tokens, unpriced) == (37_500.0, 600_000, 50_000)


def test_rows_are_written_as_they_are_read(large: Path, folder: Path) -> None:
    # The rows of one table alone, held at once, would take more than 200 MB. Not by ru_maxrss,
    # which begins with what the process that started this one has.
    program = (
        "import re, sys; from pathlib import Path; from hermes_telemetry.commands.cli import main;"
        "code = main(sys.argv[1:]);"
        "print(code, *re.findall(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "export", folder, "--format", "ndjson", "--db", large],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    code, kilobytes = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert int(kilobytes) < 100_000


def test_another_tool_imports_the_same_sums(cli, tmp_path: Path, folder: Path) -> None:
    demo, again = tmp_path / "demo.db", tmp_path / "again.db"
    cli("demo", demo, "--calls", "500")
    cli("export", folder, "--db", demo)
    for table in ("llm_calls", "runs", "turn_costs"):
        subprocess.run(
            [
                *(sys.executable, "-m", "sqlite_utils", "insert", again, table),
                *(folder / f"{table}.csv", "--csv", "--empty-null"),
            ],
            check=True,
            capture_output=True,
        )
    for sql in (
        "select count(*), count(cost_usd), sum(tokens_in), sum(cache_read_tokens) from llm_calls",
        "select count(*), count(ended_at), sum(api_calls), sum(tool_calls) from runs",
        "select count(*), sum(calls), sum(unpriced_calls), sum(model_ms) from turn_costs",
    ):
        assert rows(again, sql) == rows(demo, sql)
    costs = "select cost_usd from {} where cost_usd is not null order by 1"
    for table in ("llm_calls", "turn_costs"):
        # A view adds up anew each time it is read: the last digit depends on the order.
        kept, told = (
            [cost for (cost,) in rows(path, costs.format(table))] for path in (demo, again)
        )
        assert told == pytest.approx(kept, rel=1e-12, abs=0)


def test_since_takes_what_was_recorded_from_then_on(
    cli, book: HandMadeLedger, folder: Path
) -> None:
    book.run("before", "2026-06-30T10:00")
    book.call("before", 1.0, "2026-06-30T10:00")
    book.run("through", "2026-06-30T23:00")
    book.call("through", 2.0, "2026-06-30T23:59:59.999999", turn="t")
    book.call("through", 4.0, "2026-07-01T00:00", turn="t")
    book.run("after", "2026-07-01T09:00")
    book.tool("after", "terminal", "2026-07-01T09:00")
    book.edge("one", "before", at="2026-06-30T10:00", stopped_at="2026-06-30T11:00")
    book.edge("two", "through", at="2026-06-30T23:00", stopped_at="2026-07-01T01:00")
    book.price("listed", input=3)
    cli("export", folder, "--since", "2026-07-01", "--db", book.path)

    def column(name: str, key: str) -> list[str]:
        return [row[key] for row in read_csv(folder / f"{name}.csv")]

    assert column("runs", "session_id") == ["through", "after"]
    assert column("llm_calls", "cost_usd") == ["4.0"]
    assert column("tool_calls", "session_id") == ["after"]
    assert column("subagent_edges", "child_session_id") == ["two"]
    assert column("prices_used", "basis") == ["listed"]
    # A turn's sum is that of the calls that are exported.
    assert column("turn_costs", "cost_usd") == ["4.0"]


def test_since_is_a_local_day(
    cli, book: HandMadeLedger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In Madrid 1 July begins at 22:00 UTC.
    book.call("s", 1.0, "2026-06-30T21:59:59")
    book.call("s", 2.0, "2026-06-30T22:00")
    monkeypatch.setattr("hermes_telemetry.reports.configured_zone", lambda **_: "Europe/Madrid")
    report = json.loads(
        cli("export", folder, "--since", "2026-07-01", "--db", book.path, "--json").out
    )
    assert [row["cost_usd"] for row in read_csv(folder / "llm_calls.csv")] == ["2.0"]
    assert (report["since"], report["format"]) == ("2026-06-30T22:00:00", "csv")
    assert {"file": "llm_calls.csv", "rows": 1} in report["files"]


def test_a_ledger_of_another_build_is_exported_with_its_sums(
    cli, tmp_path: Path, folder: Path
) -> None:
    path = old_ledger.build(tmp_path / "foreign.db", 18)  # without views and price record
    before = path.read_bytes()
    assert cli("export", folder, "--db", path).code == 0
    assert not (folder / "prices_used.csv").exists()
    (expected,) = rows(path, "select sum(calls) from (select count(*) as calls from llm_calls)")
    assert sum(int(row["calls"]) for row in read_csv(folder / "session_costs.csv")) == expected[0]
    assert path.read_bytes() == before


def test_nothing_that_is_there_is_overwritten(
    cli, refused: Refused, ledger: Path, folder: Path
) -> None:
    cli("export", folder, "--db", ledger)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    program = "hermes-telemetry export"
    assert refused("export", folder, "--db", ledger) == (
        f"{program}: {folder / 'runs.csv'} exists: name another folder, or move it away"
    )
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    # The other format has other names, and goes beside them.
    assert cli("export", folder, "--format", "ndjson", "--db", ledger).code == 0
    assert {file.name: file.read_bytes() for file in folder.glob("*.csv")} == before


def test_a_link_that_leads_nowhere_is_no_free_name(
    refused: Refused, ledger: Path, folder: Path, tmp_path: Path
) -> None:
    folder.mkdir()
    (folder / "llm_calls.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert "llm_calls.csv exists" in refused("export", folder, "--db", ledger)
    assert os.listdir(folder) == ["llm_calls.csv"]
    assert not (tmp_path / "elsewhere.csv").exists()


def test_a_file_that_somebody_makes_meanwhile_stays_theirs(
    refused: Refused, ledger: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = whole_files.publish

    def late(made: Path, path: Path) -> None:
        if path.name == "tool_calls.csv":
            path.write_text("theirs")
        publish(made, path)

    monkeypatch.setattr(whole_files, "publish", late)
    assert "tool_calls.csv was made by somebody else" in refused("export", folder, "--db", ledger)
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [
        ("tool_calls.csv", "theirs")
    ]


def test_where_there_are_no_hard_links_the_files_come_all_the_same(
    cli, ledger: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert cli("export", folder, "--db", ledger).code == 0
    assert len(list(read_csv(folder / "llm_calls.csv"))) == 4
    assert "exists" in cli("export", folder, "--db", ledger).err


def test_an_export_that_fails_leaves_no_file(refused: Refused, ledger: Path, folder: Path) -> None:
    with changed_by_hand(ledger) as execute:
        execute("alter table tool_calls rename column ts to moment")
        execute("insert into schema_version values (19, '2026-07-01')")
    assert "no such column: ts" in refused("export", folder, "--db", ledger)
    assert os.listdir(folder) == []


def test_input_errors_are_one_line(
    refused: Refused, ledger: Path, folder: Path, tmp_path: Path
) -> None:
    program = "hermes-telemetry export"
    missing, nowhere, file = tmp_path / "no.db", tmp_path / "no" / "files", tmp_path / "file"
    file.write_text("")
    old = old_ledger.build(tmp_path / "v12.db", 12)
    assert f"{program}: there is no file {missing}" in refused("export", folder, "--db", missing)
    assert refused("export", folder, "--since", "soon", "--db", ledger) == (
        f"{program}: --since: 'soon' is neither a date (2026-07-01), an ISO instant"
        " (2026-07-01T12:00:00Z), today, yesterday, week,"
        " last-week, month, last-month, an age (24h, 7d, 4w) nor all"
    )
    assert refused("export", nowhere, "--db", ledger) == (
        f"{program}: there is no folder {nowhere.parent}"
    )
    assert refused("export", file, "--db", ledger) == f"{program}: {file} is not a folder"
    assert "run `hermes-telemetry migrate" in refused("export", folder, "--db", old)
    assert "invalid choice: 'xml'" in refused("export", folder, "--format", "xml")
    assert not folder.exists()
