"""Which rows `hermes-telemetry query` shows in which order, and what a terminal has room for."""

import csv
import json
from collections.abc import Callable
from io import StringIO

import pytest

from support.ledger import HandMadeLedger

Refused = Callable[..., str]

DAY = ("--since", "2026-06-30", "--until", "2026-06-30")


@pytest.fixture
def turns(book: HandMadeLedger) -> HandMadeLedger:
    """On 30 June, the latest last: b 0.25 USD, d unpriced, a 1.50 in two calls, c 0.25."""
    book.call("s", 0.25, "2026-06-30T08:00", "b")
    book.call("s", None, "2026-06-30T09:00", "d")
    book.call("s", 1.0, "2026-06-30T10:00", "a")
    book.call("s", 0.5, "2026-06-30T10:01", "a")
    book.call("s", 0.25, "2026-06-30T11:00", "c")
    return book


def order(cli, book: HandMadeLedger, *arguments: str) -> list[str]:
    answer = cli("query", "cost_per_turn", *DAY, *arguments, "--db", book.path, "--json")
    return [row["turn_id"] for row in json.loads(answer.out)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # The query's own order: the latest turn first.
        ((), "cadb"),
        (("--reverse",), "bdac"),
        # The dearest first; what cost the same as in the query's order, the unknown at the end.
        (("--sort", "cost_usd"), "acbd"),
        (("--sort", "cost_usd", "--reverse"), "cbad"),
        (("--sort", "cost_usd", "--limit", "1"), "a"),
        (("--limit", "2"), "ca"),
        (("--limit", "9"), "cadb"),
        # Names from A, times from the latest.
        (("--sort", "turn_id"), "abcd"),
        (("--sort", "turn_id", "--reverse"), "dcba"),
        (("--sort", "started_at"), "cadb"),
        (("--sort", "calls", "--limit", "1"), "a"),
    ],
)
def test_rows_are_sorted_and_then_limited(
    cli, turns: HandMadeLedger, arguments: tuple[str, ...], expected: str
) -> None:
    assert "".join(order(cli, turns, *arguments)) == expected


def test_every_shape_has_the_same_rows(cli, turns: HandMadeLedger) -> None:
    asked = ("query", "cost_per_turn", *DAY, "--sort", "cost_usd", "--limit", "2")
    table = cli(*asked, "--db", turns.path).out.splitlines()
    assert [line.split()[0] for line in table[2:]] == ["a", "c"]
    rows = csv.DictReader(StringIO(cli(*asked, "--csv", "--db", turns.path).out))
    assert [row["turn_id"] for row in rows] == ["a", "c"]


def test_text_where_a_number_is_meant_is_sorted_too(cli, turns: HandMadeLedger) -> None:
    turns.change("update llm_calls set latency_ms = 'long' where turn_id = 'b'")
    assert len(order(cli, turns, "--sort", "model_ms")) == 4


def test_a_column_that_there_is_not_is_answered_with_those_there_are(
    refused: Refused, turns: HandMadeLedger
) -> None:
    line = refused("query", "cost_by_day", "--sort", "price", "--db", turns.path)
    assert line == (
        "hermes-telemetry query: cost_by_day has no column 'price' (it has: day, cost_usd, calls,"
        " tokens_in, tokens_out, cache_read_tokens, unpriced_calls)"
    )


@pytest.mark.parametrize("limit", ["0", "-1", "ten", "1.5", "²"])
def test_a_limit_is_a_number_of_rows(limit: str, refused: Refused, turns: HandMadeLedger) -> None:
    line = refused("query", "cost_by_day", f"--limit={limit}", "--db", turns.path)
    assert f"argument --limit: {limit!r} is not a number of rows, 1 or more" in line


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Standard output is a terminal of so many columns from then on."""

    def widen(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    return widen


def test_a_terminal_is_told_which_columns_it_has_no_room_for(
    cli, turns: HandMadeLedger, on_a_terminal: Callable[[int], None]
) -> None:
    on_a_terminal(40)
    answer = cli("query", "cost_by_day", *DAY, "--db", turns.path)
    # 10 + 2 + 8 + 2 + 5 + 2 + 9 = 38; two more and 10 would be 50.
    assert answer.out.splitlines() == [
        "day         cost_usd  calls  tokens_in",
        "----------  --------  -----  ---------",
        "2026-06-30   ≥ $2.00      5          0",
        "… no room for tokens_out, cache_read_tokens, unpriced_calls (--csv and --json have every"
        " column)",
    ]


def test_a_width_that_the_environment_names_holds_for_a_pipe_too(
    cli, turns: HandMadeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = cli("query", "cost_by_day", *DAY, "--db", turns.path).out.splitlines()
    assert lines[0] == "day         cost_usd  calls  tokens_in"
    assert lines[-1].startswith("… no room for tokens_out, ")
    monkeypatch.setenv("COLUMNS", "wide")
    assert "no room" not in cli("query", "cost_by_day", *DAY, "--db", turns.path).out


@pytest.mark.parametrize(
    ("since", "until"), [("--since", "--until"), ("--from", "--to"), ("--since", "--to")]
)
@pytest.mark.parametrize("command", [("query", "cost_by_day"), ("stats", "summary")])
def test_the_bounds_have_the_same_names_in_every_command(
    cli, turns: HandMadeLedger, command: tuple[str, str], since: str, until: str
) -> None:
    day = "2026-06-30"
    named = cli(*command, since, day, until, day, "--db", turns.path)
    usual = cli(*command, "--since", day, "--until", day, "--db", turns.path)
    assert (named.code, named.out) == (0, usual.out)
    assert "≥ $2.00" in named.out


def test_where_all_fits_nothing_is_cut_or_said(
    cli, turns: HandMadeLedger, on_a_terminal: Callable[[int], None]
) -> None:
    piped = cli("query", "cost_by_day", *DAY, "--db", turns.path).out
    widest = max(map(len, piped.splitlines()))
    on_a_terminal(widest)
    assert cli("query", "cost_by_day", *DAY, "--db", turns.path).out == piped
    on_a_terminal(widest - 1)
    assert "no room for" in cli("query", "cost_by_day", *DAY, "--db", turns.path).out


def test_a_long_text_is_cut_only_where_it_takes_another_columns_room(
    cli, book: HandMadeLedger, on_a_terminal: Callable[[int], None]
) -> None:
    book.call("s", 1.0, "2026-06-30T10:00", model="m" * 60)
    asked = ("query", "cost_by_model", *DAY, "--db", book.path)
    on_a_terminal(200)
    assert "m" * 60 in cli(*asked).out
    on_a_terminal(100)
    # 36 signs, the last of them the mark.
    assert f"{'m' * 35}…  " in cli(*asked).out


def test_the_first_column_is_shown_on_the_smallest_terminal(
    cli, turns: HandMadeLedger, on_a_terminal: Callable[[int], None]
) -> None:
    on_a_terminal(5)
    assert "2026-06-30" in cli("query", "cost_by_day", *DAY, "--db", turns.path).out


def test_a_report_is_as_wide_as_the_terminal(
    cli, turns: HandMadeLedger, on_a_terminal: Callable[[int], None]
) -> None:
    on_a_terminal(60)
    turns.run("s", "2026-06-30T08:00", status="ok", platform="cli")
    out = cli("stats", "raw", "3", "--from", "all", "--db", turns.path).out
    table = [line for line in out.splitlines() if line.startswith(("session_id", "---", "s "))]
    assert len(table) == 3
    assert all(len(line) <= 60 for line in table)
    assert "… no room for " in out


def test_who_sorts_only_the_newest_rows_is_told_so(cli, book: HandMadeLedger) -> None:
    for number in range(1000):
        day, minute = divmod(number, 500)
        ts = f"2026-06-{29 + day}T{8 + minute // 60:02}:{minute % 60:02}"
        book.call("s", 0.25, ts, f"t{number:04}")

    def told(*arguments: str) -> str:
        window = ("--since", "2026-06-01", "--until", "2026-06-30")
        answer = cli("query", "cost_per_turn", *window, *arguments, "--db", book.path, "--csv")
        assert answer.code == 0
        return answer.err

    warning = (
        "cost_per_turn gives the newest 1,000 rows of the window{}; older ones, if there are any,"
        " are left out: choose a shorter one with --since and --until, and go month by month\n"
    )
    assert told() == warning.format("")
    assert told("--sort", "total_usd", "--limit", "2") == warning.format(
        " and only these were sorted"
    )
    # Of the newest the first two are right.
    assert told("--limit", "2") == ""
    assert cli("query", "cost_per_turn", *DAY, "--db", book.path, "--csv").err == ""


def test_a_width_of_nothing_cuts_no_pipe(
    cli, turns: HandMadeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cli("query", "cost_per_turn", *DAY, "--db", turns.path).out
    monkeypatch.setenv("COLUMNS", "0")
    assert cli("query", "cost_per_turn", *DAY, "--db", turns.path).out == whole
    monkeypatch.setenv("COLUMNS", "40")
    assert cli("query", "cost_per_turn", *DAY, "--db", turns.path).out != whole
