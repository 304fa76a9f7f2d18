"""The budget of a demo ledger: near its limit, and in keeping with what the ledger holds."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.budget.config import load_budget
from hermes_telemetry.budget.verdicts import WINDOWS
from hermes_telemetry.commands.cli import main
from hermes_telemetry.paths import budget_path, telemetry_home

GLOBAL_DAILY = ("global", "daily")
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
    until: str
    days: int

    def one(self, sql: str, **values: Any) -> Any:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(sql, values).fetchone()[0]

    def alerts(self) -> list[dict[str, Any]]:
        """What was noted."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("select * from budget_alerts")]

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
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    return Demo(folder / "telemetry.db", given["--until"], int(given.get("--days", "90")))


PERIODS = [
    ("9000 calls", ("--calls", "9000", "--days", "90", "--until", "2026-07-15T09:30:00")),
    ("one day", ("--calls", "500", "--days", "1", "--until", "2026-07-15T00:20:00")),
    ("up to the end of a month", ("--calls", "500", "--days", "2", "--until", "2026-07-01")),
    ("another seed", ("--calls", "1500", "--days", "20", "--until", "2026-07-05", "--seed", "3")),
    ("just after a month began", ("--calls", "1500", "--until", "2026-07-01T00:00:05")),
    ("a first", ("--calls", "1500", "--until", "2026-12-01T03:40:00")),
    ("a second", ("--calls", "1500", "--until", "2026-07-02T12:00:00")),
    ("the last of a month", ("--calls", "1500", "--until", "2026-07-31T23:59:59")),
    ("a leap day", ("--calls", "1500", "--until", "2028-02-29T10:00:00")),
    ("just before midnight", ("--calls", "1500", "--until", "2026-07-15T23:59:59.999999")),
]


@pytest.fixture(scope="module", params=[p for _, p in PERIODS], ids=[name for name, _ in PERIODS])
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return make(tmp_path_factory.mktemp("demo"), *request.param)


def last_two_days(demo: Demo) -> list[str]:
    """The day that the ledger ends in, as its file was asked for, and the one before."""
    end = datetime.fromisoformat(demo.until).replace(tzinfo=None) - timedelta(microseconds=1)
    return [f"{end - timedelta(days=ago):%Y-%m-%d}" for ago in (1, 0)]


def test_today_or_yesterday_came_near_the_daily_limit_and_a_notice_was_given(demo: Demo) -> None:
    limit = load_budget(budget_path(demo.path)).limit("global", "", "daily")
    assert limit is not None
    spent = {day: demo.spent(day) for day in last_two_days(demo)}
    assert 0.8 * limit <= max(spent.values()) < limit

    notices = [each for each in demo.alerts() if (each["scope"], each["window"]) == GLOBAL_DAILY]
    assert {each["period_key"] for each in notices} == {
        day for day, usd in spent.items() if usd >= 0.8 * limit
    }
    for notice in notices:
        # The notice came with the call that passed 80 %.
        day, at = notice["period_key"], notice["fired_at"]
        assert (notice["level"], notice["limit_usd"]) == ("soft", limit)
        assert notice["spent_usd"] == pytest.approx(demo.spent(day, at), abs=1e-9)
        assert notice["spent_usd"] >= 0.8 * limit
        before = demo.one("select max(ts) from llm_calls where ts < :at", at=at)
        assert demo.spent(day, before) < 0.8 * limit


def test_the_monthly_limit_is_one_for_thirty_of_its_days_whatever_day_it_is(demo: Demo) -> None:
    limit = load_budget(budget_path(demo.path)).limit("global", "", "monthly")
    assert limit is not None
    assert limit == float(f"{limit:.2g}")  # 14 or 140, no 13.87
    end = datetime.fromisoformat(last_two_days(demo)[1]) + timedelta(days=1)
    usual = end - timedelta(days=30)
    spent = demo.one(
        "select sum(cost_usd) from llm_calls where ts >= :usual", usual=usual.isoformat()
    )
    spent *= max(1, 30 / demo.days)
    month = demo.spent(f"{last_two_days(demo)[1]:.7}")  # on a 31st it has more than 30 days
    # 90 % of the limit, and two digits of it, which may be 5 % more or less.
    assert limit == pytest.approx(max(spent, month) / 0.9, rel=0.05)
    assert month < limit


def test_a_cron_job_passed_its_daily_limit_and_was_paused_and_ran_no_more_that_day(
    demo: Demo,
) -> None:
    budget = load_budget(budget_path(demo.path))
    (job,) = budget.overridden("cron_job")
    limit = budget.limit("cron_job", job, "daily")
    of_job = [alert for alert in demo.alerts() if alert["scope"] == "cron_job"]
    hard, paused = sorted(of_job, key=lambda alert: str(alert["level"]))
    assert hard["level"] == "hard"
    assert paused == {**hard, "id": paused["id"], "level": "paused"}
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
    """But for a notice of the month, where that has come so far."""
    budget = load_budget(budget_path(demo.path))
    limit, month = budget.limit("global", "", "monthly"), f"{last_two_days(demo)[1]:.7}"
    assert limit is not None
    others = [each for each in demo.alerts() if each["scope"] == "global"]
    monthly = [each for each in others if each["window"] == "monthly"]
    assert [(each["period_key"], each["level"]) for each in monthly] == [(month, "soft")] * (
        demo.spent(month) >= 0.8 * limit
    )
    assert {each["window"] for each in others} <= {"daily", "monthly"}


def test_the_job_of_today_is_over_its_limit_today(tmp_path: Path) -> None:
    demo = make(tmp_path, "--until", "2026-07-15T09:30:00")
    (paused,) = [alert for alert in demo.alerts() if alert["level"] == "paused"]
    assert paused["period_key"] == "2026-07-15"


def test_days_without_a_call_are_not_limited_to_nothing(tmp_path: Path) -> None:
    # 500 calls in ten years are mostly none in a month.
    demo = make(tmp_path, "--calls", "500", "--days", "3650", "--until", "2026-07-01T00:00:05")
    budget = load_budget(budget_path(demo.path))
    daily, monthly = (budget.limit("global", "", window) for window in WINDOWS)
    assert daily is not None
    assert monthly is not None
    assert 0 < daily <= monthly


def test_a_cron_job_goes_by_a_name_that_commands_take(cli, tmp_path: Path) -> None:
    demo = make(tmp_path, *SMALL)
    answer = cli("stats", "cron", "--from", "all", "--db", demo.path)
    assert "nightly-report" in answer.out
    answer = cli("budget", "set", "cron_job", "nightly-report", "daily", "3", "--db", demo.path)
    assert (answer.code, answer.err) == (0, "")


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
