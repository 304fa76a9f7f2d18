"""The budget of a demo ledger: near its limit, and in keeping with what the ledger holds."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.budget.config import load_budget
from hermes_telemetry.commands.cli import main
from hermes_telemetry.paths import budget_path, telemetry_home

SMALL = ("--calls", "500", "--days", "3", "--until", "2026-07-15T09:30:00+00:00")

# The sessions of a cron job: its own, and those below them.
SESSIONS = """
    with recursive tree(session_id) as (
      select session_id from runs where cron_job_id = :job
      union
      select child_session_id
      from subagent_edges
      join tree on tree.session_id = parent_session_id
    )
"""


@dataclass(frozen=True)
class Demo:
    path: Path

    def one(self, sql: str, **values: Any) -> Any:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(sql, values).fetchone()[0]

    def alerts(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What was noted, by scope and level."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            rows = [dict(row) for row in connection.execute("select * from budget_alerts")]
        return {(row["scope"], row["level"]): row for row in rows}

    def spent(self, month_or_day: str, up_to: str = "9") -> float:
        usd: float = self.one(
            "select total(cost_usd) from llm_calls where ts like :day || '%' and ts <= :up_to",
            day=month_or_day,
            up_to=up_to,
        )
        return usd

    def spent_by_job(self, job: str, day: str, up_to: str = "9") -> float:
        usd: float = self.one(
            f"""
            {SESSIONS}
            select total(cost_usd)
            from llm_calls
            where session_id in (select session_id from tree)
              and ts like :day || '%'
              and ts <= :up_to
              and estimated = 0
            """,
            job=job,
            day=day,
            up_to=up_to,
        )
        return usd


def make(folder: Path, *arguments: str) -> Demo:
    folder.mkdir(exist_ok=True)
    assert main(["demo", str(folder / "telemetry.db"), *arguments]) == 0
    return Demo(folder / "telemetry.db")


PERIODS = [
    ("9000 calls", ("--calls", "9000", "--days", "90", "--until", "2026-07-15T09:30:00")),
    ("one day", ("--calls", "500", "--days", "1", "--until", "2026-07-15T00:20:00")),
    ("up to the end of a month", ("--calls", "500", "--days", "2", "--until", "2026-07-01")),
    ("another seed", ("--calls", "1500", "--days", "20", "--until", "2026-07-05", "--seed", "3")),
]


@pytest.fixture(scope="module", params=[p for _, p in PERIODS], ids=[name for name, _ in PERIODS])
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return make(tmp_path_factory.mktemp("demo"), *request.param)


def test_the_month_is_near_its_limit_and_a_notice_was_given_when_it_came_near(demo: Demo) -> None:
    budget = load_budget(budget_path(demo.path))
    limit = budget.limit("global", "", "monthly")
    soft = demo.alerts()["global", "soft"]
    assert limit is not None
    assert (soft["window"], soft["scope_id"], soft["limit_usd"]) == ("monthly", "", limit)
    month = soft["period_key"]
    assert month == demo.one("select max(substr(ts, 1, 7)) from llm_calls")
    assert 0.8 * limit <= demo.spent(month) < limit

    # The notice came with the call that passed 80 %.
    assert soft["spent_usd"] == pytest.approx(demo.spent(month, soft["fired_at"]), abs=1e-9)
    assert soft["spent_usd"] >= 0.8 * limit
    before = demo.one("select max(ts) from llm_calls where ts < :at", at=soft["fired_at"])
    assert demo.spent(month, before) < 0.8 * limit


def test_a_cron_job_passed_its_daily_limit_and_was_paused_and_ran_no_more_that_day(
    demo: Demo,
) -> None:
    budget = load_budget(budget_path(demo.path))
    (job,) = budget.overridden("cron_job")
    limit = budget.limit("cron_job", job, "daily")
    alerts = demo.alerts()
    hard, paused = alerts["cron_job", "hard"], alerts["cron_job", "paused"]
    assert {**paused, "id": hard["id"], "level": "hard"} == hard
    assert (hard["scope_id"], hard["window"], hard["limit_usd"]) == (job, "daily", limit)
    day, at = hard["period_key"], hard["fired_at"]
    assert limit is not None
    assert demo.spent_by_job(job, day) >= limit
    assert demo.spent_by_job(job, day, at) >= limit - 1e-9

    started_later = demo.one(
        "select count(*) from runs where cron_job_id = :job"
        " and started_at > :at and started_at like :day || '%'",
        job=job,
        at=at,
        day=day,
    )
    assert started_later == 0


def test_nothing_else_was_noted(demo: Demo) -> None:
    assert demo.one("select count(*) from budget_alerts") == 3


def test_the_job_of_today_is_over_its_limit_today(tmp_path: Path) -> None:
    demo = make(tmp_path, "--until", "2026-07-15T09:30:00")
    assert demo.alerts()["cron_job", "paused"]["period_key"] == "2026-07-15"


def test_a_month_without_a_call_is_not_limited_to_nothing(tmp_path: Path) -> None:
    # The last call is at least 12 minutes before the end, so July has none.
    demo = make(tmp_path, "--calls", "500", "--days", "1", "--until", "2026-07-01T00:00:05")
    assert demo.spent("2026-07") == 0
    limit = load_budget(budget_path(demo.path)).limit("global", "", "monthly")
    assert limit is not None
    assert 0.8 * limit <= demo.spent("2026-06") < limit
    assert ("global", "soft") not in demo.alerts()


def test_the_same_seed_and_end_give_the_same_budget(tmp_path: Path) -> None:
    texts = {
        make(tmp_path / name, *SMALL).path.with_name("budget.yaml").read_text() for name in "ab"
    }
    assert len(texts) == 1


def test_a_budget_that_stands_there_is_left_as_it_is(cli, tmp_path: Path) -> None:
    path = tmp_path / "budget.yaml"
    path.write_text("# mine\n")
    answer = cli("demo", tmp_path / "demo.db", *SMALL)
    assert (answer.code, answer.out.splitlines()[1]) == (
        0,
        f"{path} was there before and is left as it is",
    )
    assert path.read_text() == "# mine\n"


def test_no_made_up_budget_comes_into_force(cli) -> None:
    home = telemetry_home()
    home.mkdir(parents=True)
    answer = cli("demo", home / "demo.db", *SMALL)
    assert (answer.code, answer.out.splitlines()[1]) == (
        0,
        f"no {home / 'budget.yaml'} was written: in the telemetry home it would be enforced",
    )
    assert not (home / "budget.yaml").exists()
