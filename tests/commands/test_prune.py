"""`hermes-telemetry prune`: shows what a rule takes, takes it when told to, gives space back."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_telemetry.windows import timestamp
from support import failures, old_ledger
from support.rows import insert

Refused = Callable[..., str]


@pytest.fixture
def path(ledger: Path) -> Path:
    """Failed attempts of 2024 by id: 1-3 sonnet 429 of May, 4 gpt without a status of May, 5
    sonnet 429 of June; and 6, gpt 500, of this hour.
    """
    rows = [(day, "sonnet", 429) for day in ("05-01", "05-02", "05-03")]
    for day, model, status in [*rows, ("05-04", "gpt", None), ("06-05", "sonnet", 429)]:
        failure(ledger, f"2024-{day}T10:00:00.000000+00:00", model, status)
    failure(ledger, timestamp(datetime.now(UTC) - timedelta(minutes=10)), "gpt", 500)
    return ledger


def failure(path: Path, ts: str, model: str, status: int | None) -> None:
    insert(
        path,
        "llm_call_errors",
        session_id="s",
        ts=ts,
        model=model,
        provider="p",
        status_code=status,
        error_type="Timeout" if status is None else "ApiError",
    )


def test_without_apply_it_shows_what_would_go_and_deletes_nothing(cli, path: Path) -> None:
    answer = cli("prune", "--before", "2024-06-01", "--db", path)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "model   provider  status_code  rows",
        "------  --------  -----------  ----",
        "sonnet  p         429             3",
        "gpt     p                         1",
        "the rule takes 4 failed attempts from before 2024-06-01T00:00:00Z",
        "nothing is deleted without --apply; 2 would remain, the oldest of 2024-06-05T10:00:00Z",
    ]
    assert failures.ids(path) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--before", "1h"], [6]),
        (["--before", "0h"], []),
        (["--before", "2024-05-03"], [3, 4, 5, 6]),
        (["--before", "2024-05-03T12:00:00+02:00"], [3, 4, 5, 6]),
        (["--before", "2024-05-03T12:00:01+02:00"], [4, 5, 6]),
        (["--before", "1h", "--status", "429"], [4, 6]),
        (["--before", "1h", "--status", "none", "--status", "500"], [1, 2, 3, 5, 6]),
        (["--before", "1h", "--status", "none,500"], [1, 2, 3, 5, 6]),
        (["--before", "1h", "--status", "429, 500", "--status", "none"], [6]),
        (["--before", "last-month"], [6]),
        (["--before", "1h", "--error-type", "Timeout"], [1, 2, 3, 5, 6]),
        (["--before", "1h", "--model", "gpt", "--provider", "p"], [1, 2, 3, 5, 6]),
        (["--before", "1h", "--keep-last", "2"], [3, 4, 5, 6]),
    ],
)
def test_with_apply_it_deletes(cli, path: Path, arguments: list[str], left: list[int]) -> None:
    answer = cli("prune", *arguments, "--apply", "--db", path)
    assert answer.code == 0
    assert failures.ids(path) == left
    assert answer.out.splitlines()[-1].startswith(f"deleted {6 - len(left)}; {len(left)} remain")


def test_a_date_begins_where_the_configured_zone_has_its_midnight(cli, path: Path) -> None:
    # In Kiritimati 4 May begins at 10:00 UTC on 3 May: the row of that instant is of the 4th.
    path.with_name("budget.yaml").write_text("timezone: Pacific/Kiritimati\n")
    cli("prune", "--before", "2024-05-04", "--apply", "--db", path)
    assert failures.ids(path) == [3, 4, 5, 6]


def test_the_same_as_json(cli, path: Path) -> None:
    arguments = ["prune", "--before", "2024-06-01", "--keep-last", "1", "--json", "--db", path]
    seen = json.loads(cli(*arguments).out)
    assert seen == {
        "file": str(path),
        "before": "2024-06-01T00:00:00+00:00",
        "applied": False,
        "matching": 3,
        "groups": [{"model": "sonnet", "provider": "p", "status_code": 429, "rows": 3}],
        "deleted": 0,
        "remaining": 3,
        "oldest_remaining": "2024-05-04T10:00:00.000000+00:00",
        "bytes_before": None,
        "bytes_after": None,
    }
    assert json.loads(cli(*arguments, "--apply").out) == seen | {"applied": True, "deleted": 3}


def test_vacuum_gives_the_space_back(cli, ledger: Path) -> None:
    failures.build(ledger, 20_000)
    size = ledger.stat().st_size
    report = json.loads(
        cli("prune", "--before", "0h", "--apply", "--vacuum", "--json", "--db", ledger).out
    )
    assert (report["bytes_before"], report["bytes_after"]) == (size, ledger.stat().st_size)
    assert report["bytes_after"] < size / 10
    answer = cli("prune", "--before", "0h", "--apply", "--vacuum", "--db", ledger)
    assert f"the file went from {report['bytes_after']:,} to" in answer.out
    with closing(sqlite3.connect(ledger)) as connection:
        assert connection.execute("select count(*) from llm_calls").fetchone() == (4,)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: --before"),
        (["--before", ""], "say before when"),
        (["--before", "soon"], "'soon' is not an age (12h, 90d, 4w), date"),
        (["--before", "9999-01-01"], "'9999-01-01' lies in the future"),
        (["--before", "1d", "--status", "4xx"], "'4xx' is not a status code"),
        (["--before", "1d", "--keep-last", "-1"], "-1 is not a number of rows to keep"),
        (["--before", "1d", "--keep-last", "few"], "invalid int value: 'few'"),
        (["--before", "1d", "--vacuum"], "--vacuum needs --apply"),
    ],
)
def test_a_bad_rule_is_one_line_and_deletes_nothing(
    refused: Refused, path: Path, arguments: list[str], complaint: str
) -> None:
    assert complaint in refused("prune", *arguments, "--db", path)
    assert failures.ids(path) == [1, 2, 3, 4, 5, 6]


def test_a_file_that_cannot_be_pruned_is_one_line(refused: Refused, tmp_path: Path) -> None:
    assert "there is no file" in refused("prune", "--before", "1d", "--db", tmp_path / "no.db")
    older = old_ledger.build(tmp_path / "v17.db", 17)
    advice = f"run `hermes-telemetry migrate --db {older}` first"
    assert advice in refused("prune", "--before", "1d", "--db", older)
