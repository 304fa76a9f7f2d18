"""One number everywhere: on a query's page, in its JSON, in `query`, in `stats`, in `/stats`."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import money, reports
from hermes_telemetry.commands.cli import main
from hermes_telemetry.commands.slash import answer
from hermes_telemetry.commands.stats import REPORTS
from hermes_telemetry.store import migrations
from support.datasette_site import Site
from support.ledger import HandMadeLedger

# Of the day before and the day after nothing may be counted.
DAYS = ("2026-06-30", "2026-07-01", "2026-07-02")
DAY = DAYS[1]


@pytest.fixture
def home(hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ledger of the telemetry home, which has something in every report on each of three days:
    in a chat 0.50 and 0.25 USD and a call without a price, in a cron job 2 USD.
    """
    monkeypatch.setenv("TZ", "UTC")
    path = hermes_home / "telemetry" / "telemetry.db"
    path.parent.mkdir()
    migrations.migrate(path)
    with closing(HandMadeLedger(path)) as made:
        for number, day in enumerate(DAYS):
            chat, job = f"chat-{number}", f"job-{number}"
            made.run(chat, f"{day}T10:00", status="ok", tokens_in=150_000, tokens_out=50)
            made.run(job, f"{day}T11:00", status="error", cron_job_id="0123456789ab")
            for usd, provider in ((0.5, "p"), (0.25, "q"), (None, "q")):
                made.call(chat, usd, f"{day}T10:01", provider=provider, tokens_in=50_000)
            made.call(job, 2.0, f"{day}T11:01", model="n")
            made.tool(chat, "terminal", f"{day}T10:02", ok=0, latency_ms=7)
            made.failure(job, f"{day}T11:02", reason="rate_limit")
    return path


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_has_one_number_everywhere(
    sites: Callable[..., Site], home: Path, capsys: Any, report: str
) -> None:
    def printed(*arguments: str) -> Any:
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    site = sites(home)
    window = ("--from", DAY, "--to", DAY)
    figures = printed("stats", report, *window)["figures"]
    chat = answer("stats", f"{report} {' '.join(window)}", None)
    assert tuple(figures) == REPORTS[report]
    for name, rows in figures.items():
        assert rows, f"nothing is compared of {name}"
        path = f"/telemetry/{name}"
        asked = f"since={DAY}&until={DAY}"
        same = (
            printed("query", name, "--since", DAY, "--until", DAY),
            site.rows(f"{path}.json?_shape=array&{asked}"),
        )
        for other in same:
            assert in_order(other) == in_order(rows)
        page, query = site.page(f"{path}?{asked}").text, reports.load_queries()[name]
        for row in rows:
            for column, unit in query.units.items():
                if unit == "usd" and row[column] is not None:
                    assert_shown(money.usd(row[column], row.get(query.unpriced[column], 0)), page)
                elif unit in ("score", "count", "id"):
                    assert_shown(row[column], page)
            for column, count in query.unpriced.items():
                # The first amount is what no chat is too narrow for.
                if column == next(iter(query.unpriced)):
                    assert money.usd(row[column], row[count]) in chat


def assert_shown(value: Any, page: str) -> None:
    """A value stands on the page as a word of its own, an empty one as nothing."""
    if value not in (None, ""):
        assert re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w])", page), value


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)


def test_the_amounts_are_those_of_the_day_alone(home: Path) -> None:
    text = answer("stats", f"summary --from {DAY} --to {DAY}", None)
    # 0.50 + 0.25 + 2 USD, and one call without a price.
    assert "\nTotal: ≥ $2.75 (1 unpriced)\n" in text
