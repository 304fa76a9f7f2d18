"""`hermes-telemetry bill`: a provider's usage export beside the ledger, worked out by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.ledger import HandMadeLedger


@pytest.fixture
def export(tmp_path: Path) -> Callable[[str], Path]:
    """Writes an export."""

    def write(text: str) -> Path:
        path = tmp_path / "usage.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


Export = Callable[[str], Path]


def sides(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Day (if it is one), model, billed, ledger, difference."""
    names = ("day", "model", "billed_usd", "ledger_usd", "difference_usd")
    return [tuple(line[name] for name in names if name in line) for line in lines]


def test_an_export_of_plain_days(cli, book: HandMadeLedger, export: Export) -> None:
    for model, usd, at in (
        ("sonnet", 0.5, "2026-07-01T00:00:00"),
        ("sonnet", 0.25, "2026-07-01T23:59:59.999999"),
        ("sonnet", 1.0, "2026-07-02T00:00:00"),
        ("haiku", 0.125, "2026-07-01T12:00:00"),
        ("sonnet", 64.0, "2026-06-30T23:59:59"),
        ("sonnet", 64.0, "2026-07-03T00:00:00"),
    ):
        book.call("a", usd, at, model=model)
    file = export(
        "date,model,cost_usd\n"
        "2026-07-01,sonnet,0.50\n"
        "2026-07-01,haiku,0.125\n"
        "2026-07-01,sonnet,0.30\n"
        "2026-07-02,sonnet,0.75\n"
    )
    answer = cli("bill", "--csv", file, "--json", "--db", book.path)
    assert (answer.code, answer.err) == (0, "")
    report = json.loads(answer.out)
    # 1 July: sonnet 0.80 billed, 0.75 recorded. 2 July: 0.75 billed, 1 recorded.
    assert sides(report["days"]) == [
        ("2026-07-01", "haiku", 0.125, 0.125, 0.0),
        ("2026-07-01", "sonnet", 0.8, 0.75, 0.05),
        ("2026-07-02", "sonnet", 0.75, 1.0, -0.25),
    ]
    assert sides(report["models"]) == [("haiku", 0.125, 0.125, 0.0), ("sonnet", 1.55, 1.75, -0.2)]
    assert report["total"] == {
        "billed_usd": 1.675,
        "ledger_usd": 1.875,
        "difference_usd": -0.2,
        "calls": 4,
        "unpriced_calls": 0,
    }
    keys = ("since", "until", "zone", "provider", "lines_left_out")
    assert [report[key] for key in keys] == ["2026-07-01", "2026-07-02", "UTC", None, 0]


def test_a_month_with_a_day_of_23_hours_and_columns_of_other_names(
    cli, book: HandMadeLedger, export: Export
) -> None:
    # In Madrid 29 March 2026 goes from 23:00 UTC on the 28th to 22:00 UTC on the 29th.
    for usd, at in (
        (1.0, "2026-02-28T22:59:59.999999"),  # 28 February there
        (2.0, "2026-02-28T23:00:00"),  # 1 March
        (0.25, "2026-03-28T22:59:59.999999"),  # the 28th
        (0.5, "2026-03-28T23:00:00"),  # the 29th
        (1.0, "2026-03-29T21:59:59.999999"),  # the 29th
        (4.0, "2026-03-29T22:00:00"),  # the 30th
        (8.0, "2026-03-31T22:00:00"),  # 1 April
    ):
        book.call("a", usd, at, model="gpt-5")
    file = export(
        "Usage Start,Amount (USD),Quantity,Model ID\n"
        "2026-02-28T22:59:00+00:00,1.00,9,gpt-5\n"
        "2026-02-28T23:00:00Z,2.00,9,gpt-5\n"
        "2026-03-28T22:30:00Z,0.25,9,GPT-5\n"
        "2026-03-28 23:30:00+00:00,0.50,9,gpt-5\n"
        "2026-03-29T23:59:00+02:00,1.50,9,gpt-5-2026-01-15\n"
        "2026-03-30T00:00:00+02:00,3.00,9,gpt-5\n"
    )
    options = ("--date-column", "usage start", "--model-column", "Model ID")
    arguments = ("bill", "--csv", file, "--month", "2026-03", *options)
    arguments += ("--cost-column", "amount (usd)", "--day-zone", "Europe/Madrid")
    report = json.loads(cli(*arguments, "--json", "--db", book.path).out)
    assert sides(report["days"]) == [
        ("2026-03-01", "gpt-5", 2.0, 2.0, 0.0),
        ("2026-03-28", "gpt-5", 0.25, 0.25, 0.0),
        ("2026-03-29", "gpt-5", 2.0, 1.5, 0.5),
        ("2026-03-30", "gpt-5", 3.0, 4.0, -1.0),
    ]
    assert sides([report["total"] | {"model": "all"}]) == [("all", 7.25, 7.75, -0.5)]
    assert (report["until"], report["lines_left_out"]) == ("2026-03-31", 1)
    book.path.with_name("budget.yaml").write_text("timezone: Europe/Madrid\n", encoding="utf-8")
    assert json.loads(cli(*arguments[:-2], "--json", "--db", book.path).out) == report


def test_a_missing_day_unpriced_calls_and_amounts_with_signs(
    cli, book: HandMadeLedger, export: Export
) -> None:
    book.call("a", 1200.0, "2026-07-01T10:00", model="opus", provider="anthropic")
    book.call("a", 0.5, "2026-07-02T10:00", model="opus", provider="anthropic")
    book.call("a", 0.25, "2026-07-03T10:00", model="opus", provider="anthropic")
    book.call("a", None, "2026-07-03T11:00", model="opus", provider="anthropic")
    book.call("a", None, "2026-07-03T11:00", model="mystery", provider="anthropic")
    book.call("a", 99.0, "2026-07-03T11:00", model="opus", provider="openrouter")
    file = export(
        '\ufeffday,product,charges\n"2026-07-01",opus,"$1,234.50"\n\n'
        "2026-07-03,opus,$0.75\n2026-07-04,opus,-0.25\n"
    )
    options = ("--date-column=day", "--model-column=product", "--cost-column=charges")
    answer = cli("bill", "--csv", file, *options, "--provider", "anthropic", "--db", book.path)
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    # The provider's 2 July is missing, and so is the ledger's 4 July, a credit.
    assert lines[2:7] == [
        "2026-07-01 opus $1,234.50 $1,200.00 $34.50 1 0",
        "2026-07-02 opus – $0.50 -$0.50 1 0",
        "2026-07-03 mystery – – ≤ $0.00 1 1",
        "2026-07-03 opus $0.75 ≥ $0.25 ≤ $0.50 2 1",
        "2026-07-04 opus -$0.25 – -$0.25 0 0",
    ]
    assert lines[10:12] == [
        "mystery – – ≤ $0.00 1 1",
        "opus $1,235.00 ≥ $1,200.75 ≤ $34.25 4 1",
    ]
    assert lines[12] == (
        "total: billed $1,235.00, ledger ≥ $1,200.75 (2 unpriced), difference ≤ $34.25"
    )


def test_the_days_of_the_month_are_compared_even_when_the_export_is_empty(
    cli, book: HandMadeLedger, export: Export
) -> None:
    book.call("a", 0.5, "2026-07-31T10:00")
    file = export("date,model,cost_usd\n")
    arguments = ("bill", "--csv", file, "--month", "2026-07", "--json", "--db", book.path)
    assert sides(json.loads(cli(*arguments).out)["days"]) == [("2026-07-31", "m", None, 0.5, -0.5)]


def test_a_line_without_a_model_is_billed_all_the_same(
    cli, book: HandMadeLedger, export: Export
) -> None:
    book.call("a", 0.25, "2026-07-01T10:00")
    book.call("a", 0.5, "2026-07-01T10:00", model=None)
    file = export("date,model,cost_usd\n2026-07-01,m,0.25\n2026-07-01,,2\n")
    report = json.loads(cli("bill", "--csv", file, "--json", "--db", book.path).out)
    assert sides(report["days"]) == [
        ("2026-07-01", "(no model)", 2.0, 0.5, 1.5),
        ("2026-07-01", "m", 0.25, 0.25, 0.0),
    ]
    assert report["total"]["billed_usd"] == 2.25


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "usage.csv has no column 'date' (it has: none)"),
        ("day,model\n", "usage.csv has no column 'date' (it has: 'day', 'model')"),
        (
            "date,model,cost_usd\n2026-07-01,m,1\n07/02/2026,m,1\n",
            "usage.csv, line 3, column 'date': '07/02/2026' is neither a date (2026-07-01)"
            " nor a time (2026-07-01T12:00:00Z)",
        ),
        (
            "date,model,Cost_USD\n2026-07-01,m,free\n",
            "usage.csv, line 2, column 'Cost_USD': 'free' is not an amount in USD (1.25)",
        ),
        (
            "date,model,cost_usd\n2026-07-01,m,nan\n",
            "usage.csv, line 2, column 'cost_usd': 'nan' is not an amount in USD (1.25)",
        ),
        (
            'date,model,cost_usd\n2026-07-01,m,"1,25"\n',
            "usage.csv, line 2, column 'cost_usd': '1,25' is not an amount in USD (1.25)",
        ),
        (
            "date,model,cost_usd\n2026-07-01,m,1\n2026-07-01,m\n",
            "usage.csv, line 3, column 'cost_usd': it is empty",
        ),
        (
            'date,model,cost_usd\n2026-07-01,"m,1\n',
            "usage.csv, line 2: unexpected end of data",
        ),
        (
            "date,model,cost_usd\n",
            "the export holds no line: say which --month to compare",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_place(
    refused: Callable[..., str], book: HandMadeLedger, export: Export, text: str, complaint: str
) -> None:
    line = refused("bill", "--csv", export(text), "--db", book.path)
    assert line == f"hermes-telemetry bill: {complaint}"


def test_bad_usage_is_one_line(
    refused: Callable[..., str], book: HandMadeLedger, export: Export, tmp_path: Path
) -> None:
    file = export("date,model,cost_usd\n2026-07-01,m,1\n")
    given = ("bill", "--csv", file, "--db", book.path)
    assert "'July' is not a month (2026-07)" in refused(*given, "--month", "July")
    assert "'2026-13' is not a month" in refused(*given, "--month", "2026-13")
    assert refused(*given, "--day-zone", "Mars/Base").endswith(
        "--day-zone: unknown time zone 'Mars/Base'"
    )
    assert "there is no file" in refused("bill", "--csv", file, "--db", tmp_path / "no.db")
    missing = tmp_path / "no.csv"
    assert refused("bill", "--csv", missing, "--db", book.path).endswith(
        f"{missing} cannot be read: No such file or directory"
    )
    file.write_bytes(b"date,model,cost_usd\n2026-07-01,\xff,1\n")
    assert refused(*given).endswith("usage.csv, line 2: it is not in UTF-8")
