"""`hermes-telemetry query`: rows as a table, CSV or JSON; what it refuses; that it only reads."""

import csv
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest

from support import old_ledger
from support.ledger import HandMadeLedger
from support.rows import insert

Refused = Callable[..., str]

JULY_1 = {
    "day": "2026-07-01",
    "cost_usd": 0.75,
    "calls": 3,
    "tokens_in": 3000,
    "tokens_out": 600,
    "cache_read_tokens": 90,
    "unpriced_calls": 1,
}
JULY_2 = {
    "day": "2026-07-02",
    "cost_usd": 0.0042,
    "calls": 1,
    "tokens_in": 1000,
    "tokens_out": 200,
    "cache_read_tokens": 30,
    "unpriced_calls": 0,
}


def test_json_is_a_list_of_objects_with_amounts_as_numbers(cli, ledger: Path) -> None:
    answer = cli("query", "cost_by_day", "--since", "all", "--db", ledger, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == [JULY_2, JULY_1]


def test_json_of_nothing_is_an_empty_list(cli, ledger: Path) -> None:
    answer = cli("query", "cost_by_day", "--until", "2025-01-01", "--db", ledger, "--json")
    assert (answer.code, json.loads(answer.out)) == (0, [])


def test_csv_has_a_header_and_empty_cells_for_what_is_unknown(cli, ledger: Path) -> None:
    answer = cli("query", "cost_by_day_and_model", "--since", "all", "--db", ledger, "--csv")
    rows = list(csv.DictReader(StringIO(answer.out)))
    assert [(row["day"], row["cost_usd"], row["calls"]) for row in rows] == [
        ("2026-07-02", "0.0042", "1"),
        ("2026-07-01", "0.75", "2"),
        ("2026-07-01", "", "1"),
    ]


def test_csv_makes_no_formula_of_a_text(cli, ledger: Path) -> None:
    answer = cli("query", "cost_by_day_and_model", "--since", "all", "--db", ledger, "--csv")
    rows = list(csv.DictReader(StringIO(answer.out)))
    assert [row["model"] for row in rows] == ["sonnet", "sonnet", "'=mystery()"]


def test_the_table_aligns_its_columns_and_marks_lower_bounds(cli, ledger: Path) -> None:
    answer = cli("query", "cost_by_day", "--since", "all", "--db", ledger)
    assert answer.out.splitlines() == [
        "day         cost_usd  calls  tokens_in  tokens_out  cache_read_tokens  unpriced_calls",
        "----------  --------  -----  ---------  ----------  -----------------  --------------",
        "2026-07-02   $0.0042      1      1,000         200                 30               0",
        "2026-07-01   ≥ $0.75      3      3,000         600                 90               1",
    ]


def test_the_table_shows_shares_in_per_cent_and_unknown_money_as_a_dash(cli, ledger: Path) -> None:
    answer = cli(
        "query", "cost_by_model", "--until", "2026-07-01", "--since", "all", "--db", ledger
    )
    *_, sonnet, mystery = answer.out.splitlines()
    assert sonnet.split()[:4] == ["sonnet", "$0.75", "100.0%", "2"]
    assert mystery.split()[:3] == ["=mystery()", "–", "1"]


def test_an_amount_is_marked_by_the_unpriced_calls_of_its_own(cli, book: HandMadeLedger) -> None:
    # All three calls lack a price or usage; the class named unpriced has only one of them.
    for usd, estimated in ((0.5, 1), (None, 1), (None, 1)):
        book.call("a", usd, "2026-07-01T10:00", estimated=estimated)
    answer = cli("query", "estimated_share", "--since", "all", "--db", book.path)
    assert answer.out.splitlines()[2].split()[:3] == ["p", "≥", "$0.50"]
    # 1 USD of a million tokens at the tariff of 2, and a call that no tariff covers.
    book.tariff(2.0, 8.0, "2026-07-02")
    book.call("a", 1.0, "2026-07-01T10:00", model="n")
    book.call("a", 2.5, "2026-07-03T10:00", tokens_in=1_000_000)
    answer = cli("query", "billed_vs_tariff", "--since", "all", "--until", "all", "--db", book.path)
    assert [line.split()[1:-1] for line in answer.out.splitlines()[2:]] == [
        [*("≥", "$3.00"), *("≥", "$2.00"), "$0.50", "p", "4", "1", "2"],
        ["$1.00", "–", "–", "p", "1", "0", "0"],
    ]


def table(cli, book: HandMadeLedger, query: str, *arguments: str) -> list[dict[str, str]]:
    """The rows of a query as its table shows them, by column."""
    head, line, *rows = cli("query", query, *arguments, "--db", book.path).out.splitlines()
    spans = [match.span() for match in re.finditer("-+", line)]
    return [
        {head[start:end].strip(): row[start:end].strip() for start, end in spans} for row in rows
    ]


def amounts(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: text for name, text in row.items() if name.endswith("_usd")} for row in rows]


def test_of_a_turns_amounts_those_that_miss_a_call_are_marked(cli, book: HandMadeLedger) -> None:
    book.call("root", 1.0, "2026-07-01T10:00", "t")
    book.edge("child", "root", "t")
    book.call("child", 4.0, "2026-07-01T10:01", "u")
    book.call("child", None, "2026-07-01T10:02", "u")
    assert amounts(table(cli, book, "cost_per_turn", "--param", "session_id=root")) == [
        {"cost_usd": "$1.00", "delegated_usd": "≥ $4.00", "total_usd": "≥ $5.00"}
    ]
    assert amounts(table(cli, book, "turn_timeline", "--param", "turn_id=u")) == [
        {"cost_usd": "$4.00", "running_usd": "$4.00"},
        {"cost_usd": "–", "running_usd": "≥ $4.00"},
    ]
    # What precedes on the clock is unpriced, this call is not.
    book.call("child", None, "2026-07-01T09:00", "v")
    book.call("child", 0.25, "2026-07-01T09:01", "v")
    assert amounts(table(cli, book, "turn_timeline", "--param", "turn_id=v")) == [
        {"cost_usd": "–", "running_usd": "–"},
        {"cost_usd": "$0.25", "running_usd": "≥ $0.25"},
    ]


def test_of_a_jobs_amounts_those_that_miss_a_call_are_marked(cli, book: HandMadeLedger) -> None:
    book.run("run", "2026-07-01T10:00", cron_job_id="j")
    book.edge("child", "run", "t")
    book.call("run", 1.0, "2026-07-01T10:00")
    book.call("child", 2.0, "2026-07-01T10:01")
    book.call("child", None, "2026-07-01T10:02")
    marked = {"total_usd": "≥ $3.00", "own_usd": "$1.00", "delegated_usd": "≥ $2.00"}
    assert amounts(table(cli, book, "cron_attribution", "--since", "all")) == [marked]
    assert table(cli, book, "cron_attribution", "--since", "all")[0]["mean_usd_per_run"] == (
        "≥ $3.00"
    )
    assert amounts(table(cli, book, "cron_runs", "--param", "cron_job_id=j")) == [marked]


def test_the_first_paid_cost_and_what_a_run_says_are_exact(cli, book: HandMadeLedger) -> None:
    book.free("m", "p", "2026-05-01")
    book.flip("m", "p", "2026-06-01", 0.25, "s")
    book.run("s", "2026-06-01", cost_usd=0.25, api_calls=2)
    book.call("s", 0.5, "2026-06-02")
    book.call("s", None, "2026-06-02")
    assert amounts(table(cli, book, "free_paid_history")) == [
        {"spend_since_usd": "≥ $0.50", "first_paid_cost_usd": "$0.25"}
    ]
    assert amounts(table(cli, book, "reconcile", "--since", "all")) == [
        {"difference_usd": "-$0.25", "run_usd": "$0.25", "calls_usd": "≥ $0.50"}
    ]


def test_a_cost_that_is_always_a_lower_bound_says_so(cli, book: HandMadeLedger) -> None:
    book.call("a", 0.5, "2026-07-01T10:00", moa_preset="council")
    answer = cli("query", "moa_calls", "--since", "all", "--db", book.path)
    assert answer.out.splitlines()[2].split()[1:4] == ["≥", "$0.50", "council"]


def test_rates_keep_their_digits_and_changes_their_sign(cli, book: HandMadeLedger) -> None:
    book.tariff(0.075, 0.000001, "2026-07-01", cache_read_cost_per_million=3.0)
    book.tariff(0.05, 0.000001, "2026-07-02", cache_read_cost_per_million=3.0)
    answer = cli("query", "price_history", "--db", book.path)
    now, before = (line.split() for line in answer.out.splitlines()[2:])
    assert now == ["2026-07-02T00:00:00Z", "0.05", "0.000001", "3", "-33.3%", "p", "m", "cut"]
    assert before == [
        *(
            "2026-07-01T00:00:00Z",
            "0.075",
            "2026-07-02T00:00:00Z",
            "0.000001",
            "3",
            "p",
            "m",
            "first",
        )
    ]


def test_the_table_says_when_there_is_nothing(cli, ledger: Path) -> None:
    answer = cli("query", "cost_by_day", "--until", "2025-01-01", "--db", ledger)
    assert (answer.code, answer.out) == (0, "no rows\n")


def test_no_stored_text_reaches_the_terminal_as_a_command(cli, ledger: Path) -> None:
    insert(
        ledger,
        "llm_call_errors",
        session_id="work-session",
        ts="2026-07-01T10:00:00.000000+00:00",
        status_code=500,
        error_message="\x1b[2Jgone\nand more",
    )
    answer = cli("query", "failed_attempts", "--since", "all", "--db", ledger)
    assert len(answer.out.splitlines()) == 3
    assert " [2Jgone and more" in answer.out
    assert "\x1b" not in answer.out


def test_parameters_come_by_name_and_the_common_ones_by_option(cli, ledger: Path) -> None:
    def days(*arguments: str) -> list[dict[str, object]]:
        answer = cli("query", "cost_by_day", "--db", ledger, "--json", *arguments)
        rows: list[dict[str, object]] = json.loads(answer.out)
        return rows

    assert days("--param", "since=2026-07-02") == days("--since", "2026-07-02") == [JULY_2]
    assert days("--param", "since=all", "--param", "until=2026-07-01") == [JULY_1]
    assert days("--since", "all", "--until", "2026-07-01") == [JULY_1]
    assert days("--since", "all", "--profile", "home") == [JULY_2]
    assert days("--param", "since=all", "--param", "profile=home") == [JULY_2]


@pytest.mark.usefixtures("on_wednesday")
def test_a_window_may_be_named_by_today_yesterday_or_an_age(cli, book: HandMadeLedger) -> None:
    # It is noon of 1 July: 24 hours ago was noon of 30 June.
    book.call("a", 0.25, "2026-07-01T01:00")
    book.call("a", 0.5, "2026-06-30T13:00")
    book.call("a", 1.0, "2026-06-30T11:00")

    def costs(*window: str) -> list[float]:
        answer = cli("query", "cost_by_day", *window, "--db", book.path, "--json")
        return [row["cost_usd"] for row in json.loads(answer.out)]

    assert costs("--since", "today") == [0.25]
    assert costs("--since", "yesterday", "--until", "yesterday") == [1.5]
    assert costs("--since", "24h") == [0.25, 0.5]
    assert costs("--since", "all", "--until", "1d") == [1.0]


def test_a_value_may_hold_an_equals_sign(cli, ledger: Path) -> None:
    insert(ledger, "runs", session_id="odd", started_at="2026-07-03T00:00:00", profile="a=b")
    insert(ledger, "llm_calls", session_id="odd", ts="2026-07-03T00:00:01", model="m", cost_usd=1.0)
    answer = cli(
        "query", "cost_by_day", "--since", "all", "--param", "profile=a=b", "--json", "--db", ledger
    )
    assert [row["cost_usd"] for row in json.loads(answer.out)] == [1.0]


def test_days_are_those_of_the_zone_in_the_budget_file_beside_the_ledger(cli, ledger: Path) -> None:
    # 22:30 UTC is half past midnight of the next day in Madrid in summer.
    ledger.with_name("budget.yaml").write_text("timezone: Europe/Madrid\n", encoding="utf-8")
    answer = cli("query", "cost_by_day", "--since", "all", "--db", ledger, "--json")
    assert [row["day"] for row in json.loads(answer.out)] == ["2026-07-03", "2026-07-01"]


def test_without_db_the_ledger_of_the_telemetry_home_is_read(
    cli, ledger: Path, hermes_home: Path
) -> None:
    (hermes_home / "telemetry").mkdir()
    shutil.copy(ledger, hermes_home / "telemetry" / "telemetry.db")
    answer = cli("query", "cost_by_day", "--since", "all", "--json")
    assert json.loads(answer.out) == [JULY_2, JULY_1]


def test_a_path_with_signs_of_a_uri_names_its_file(cli, ledger: Path, tmp_path: Path) -> None:
    odd = tmp_path / "100% #1?mode=rwc.db"
    shutil.copy(ledger, odd)
    answer = cli("query", "cost_by_day", "--since", "all", "--db", odd, "--json")
    assert json.loads(answer.out) == [JULY_2, JULY_1]


def test_the_list_names_every_query_with_title_and_parameters(cli) -> None:
    answer = cli("query", "--list")
    (line,) = [line for line in answer.out.splitlines() if line.startswith("cost_by_day ")]
    assert line.split(None, 1)[1] == "Cost per day (since, until, profile)"


def test_the_list_as_json_has_what_a_program_needs_to_run_a_query(cli) -> None:
    answer = cli("query", "--list", "--json")
    by_name = {query["name"]: query for query in json.loads(answer.out)}
    day = by_name["cost_by_day"]
    assert day["title"] == "Cost per day"
    assert list(day["parameters"]) == ["since", "until", "profile"]
    assert day["units"]["cost_usd"] == "usd"
    assert day["unpriced"] == {"cost_usd": "unpriced_calls"}
    files = Path(__file__).parents[2].joinpath("canned_queries").glob("*.sql")
    assert set(by_name) == {file.stem for file in files}


def test_an_unknown_query_is_answered_with_the_nearest(refused: Refused, ledger: Path) -> None:
    assert refused("query", "cost_by_dya", "--db", ledger) == (
        "hermes-telemetry query: there is no query 'cost_by_dya': did you mean cost_by_day?"
    )
    assert refused("query", "zzz", "--db", ledger) == (
        "hermes-telemetry query: there is no query 'zzz'; --list prints them all"
    )


def test_a_query_must_be_named(refused: Refused) -> None:
    assert refused("query") == "hermes-telemetry query: name a query; --list prints them all"


def test_an_unknown_parameter_is_answered_with_the_known_ones(
    refused: Refused, ledger: Path
) -> None:
    assert refused("query", "cost_by_day", "--param", "modle=x", "--db", ledger) == (
        "hermes-telemetry query: cost_by_day takes no parameter 'modle'"
        " (it takes: since, until, profile)"
    )
    line = refused("query", "turn_timeline", "--profile", "work", "--db", ledger)
    assert "turn_timeline takes no parameter 'profile'" in line


def test_a_parameter_is_given_once(refused: Refused, ledger: Path) -> None:
    line = refused(
        "query", "cost_by_day", "--since", "all", "--param", "since=2026-07-01", "--db", ledger
    )
    assert line == "hermes-telemetry query: a parameter is given twice"


@pytest.mark.parametrize("option", [("--since", "tomorrow"), ("--param", "until=1.7.2026")])
def test_a_time_that_is_none_is_named(
    refused: Refused, ledger: Path, option: tuple[str, str]
) -> None:
    line = refused("query", "cost_by_day", *option, "--db", ledger)
    assert f"{option[1].removeprefix('until=')!r} is neither a date" in line


def test_a_missing_file_is_named_and_not_made(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "nothing.db"
    line = refused("query", "cost_by_day", "--db", path)
    assert line.startswith(f"hermes-telemetry query: there is no file {path}: name a ledger")
    assert not path.exists()


def test_a_file_of_something_else_is_refused(refused: Refused, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("this is no database at all\n" * 40, encoding="utf-8")
    assert "cannot be read: file is not a database" in refused("query", "cost_by_day", "--db", text)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("create table runs (id integer)")
    assert "other.db is not a telemetry ledger" in refused("query", "cost_by_day", "--db", other)


def test_a_damaged_ledger_is_one_line(refused: Refused, ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        (root,) = connection.execute(
            "select rootpage from sqlite_master where name = 'llm_calls'"
        ).fetchone()
        (size,) = connection.execute("pragma page_size").fetchone()
    with ledger.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    # An index may answer alone; the timeline of a turn reads the table.
    assert refused("query", "cost_per_turn", "--since", "all", "--db", ledger) == (
        "hermes-telemetry query: database disk image is malformed:"
        " `hermes-telemetry doctor` says what is damaged"
    )


def test_an_old_ledger_answers_what_it_can_and_stays_as_it_is(
    cli, refused: Refused, tmp_path: Path
) -> None:
    path = old_ledger.build(tmp_path / "v12.db", 12)
    before = path.read_bytes()
    assert cli("query", "cost_by_day", "--since", "all", "--db", path).code == 0
    line = refused("query", "turn_timeline", "--param", "turn_id=x", "--db", path)
    assert line.startswith("hermes-telemetry query: turn_timeline: this file has no ")
    assert line.endswith(f"bring it up to date with hermes-telemetry migrate --db {path}")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("delegation_tree", "session_id"),
        ("turn_timeline", "turn_id"),
        ("cron_runs", "cron_job_id"),
    ],
)
def test_a_query_of_one_thing_asks_for_its_name(
    refused: Refused, ledger: Path, query: str, parameter: str
) -> None:
    asked = f"hermes-telemetry query: {query} has no rows without --param {parameter}=…"
    assert refused("query", query, "--db", ledger) == asked
    assert refused("query", query, "--param", f"{parameter}=", "--db", ledger) == asked
