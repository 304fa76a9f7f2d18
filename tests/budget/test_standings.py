"""Who is told of in `budget --json`, and what stands around them."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.ledger import HandMadeLedger
from support.outlook import ask, ask_all, budget

NOW = "2026-07-10T12:00"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The place of a budget.yaml; there is no file yet."""
    return tmp_path / "budget.yaml"


@pytest.fixture
def calls(ledger: HandMadeLedger) -> HandMadeLedger:
    """Calls of ann today, of bob on the first of the month, of eve in June."""
    for sender, at in (("ann", NOW), ("bob", "2026-07-01T09:00"), ("eve", "2026-06-30T09:00")):
        ledger.run(sender, sender_id=sender)
        ledger.call(sender, 1.0, at)
    return ledger


def rows(answer: dict[str, Any], keys: str = "scope scope_id window") -> list[tuple[Any, ...]]:
    return [tuple(row[key] for key in keys.split()) for row in answer["budgets"]]


EVERYONE = [("global", "", "daily"), ("global", "", "monthly")]


def test_the_answer_says_of_which_ledger_and_file_it_is(calls: HandMadeLedger, file: Path) -> None:
    file.write_text("budgets: {global: {daily_usd: 5}}")
    answer = ask_all(calls.path, NOW, file, "Europe/Madrid")
    assert list(answer) == [
        *("ok", "database", "generated_at", "timezone", "config_path", "config_error", "budgets")
    ]
    assert answer["ok"] is True
    assert answer["database"] == "telemetry"
    assert answer["generated_at"] == "2026-07-10T12:00:00.000000+00:00"
    assert answer["timezone"] == "Europe/Madrid"
    assert (answer["config_path"], answer["config_error"]) == (str(file), None)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert rows(answer, "scope window limit_usd enabled") == [
        ("global", "daily", 5.0, True),
        ("global", "monthly", None, False),
    ]


def test_each_is_told_of_as_it_is_alone(calls: HandMadeLedger, file: Path) -> None:
    limits = {
        "global": {"monthly_usd": 3},
        "per_sender": {"default": {"daily_usd": 1, "monthly_usd": 1}},
    }
    file.write_text(json.dumps({"budgets": limits}))
    answer = ask_all(calls.path, NOW, file)
    assert len(answer["budgets"]) == 5
    for row in answer["budgets"]:
        alone = ask(
            calls.path,
            NOW,
            budget(limits),
            scope=row["scope"],
            scope_id=row["scope_id"],
            window=row["window"],
        )
        assert row == alone


def test_what_is_expected_of_everyone_is_what_is_expected_of_each(
    ledger: HandMadeLedger, file: Path
) -> None:
    for sender, usd in (("ann", 1.0), ("bob", 4.0)):
        ledger.run(sender, sender_id=sender)
        for day in range(1, 10):
            ledger.call(sender, usd, f"2026-07-0{day}T15:00")
    file.write_text("budgets: {per_sender: {default: {monthly_usd: 99}}}")
    # 9 days are over; at noon today's call is to come, and 21 more.
    answer = ask_all(ledger.path, NOW, file)
    assert rows(answer, "scope_id window projected_usd") == [
        ("", "daily", pytest.approx(5)),
        ("", "monthly", pytest.approx(5 * 31)),
        ("ann", "monthly", pytest.approx(31)),
        ("bob", "monthly", pytest.approx(4 * 31)),
    ]


def test_without_a_file_everyone_together_is_told_of(calls: HandMadeLedger, file: Path) -> None:
    answer = ask_all(calls.path, NOW, file)
    assert rows(answer, "window spent_usd enabled") == [
        ("daily", 1.0, False),
        ("monthly", 2.0, False),
    ]


def test_a_faulty_file_is_told_and_limits_nothing(calls: HandMadeLedger, file: Path) -> None:
    file.write_text("budgets: {global: {daily_usd: -5}}")
    answer = ask_all(calls.path, NOW, file)
    assert "budgets.global.daily_usd is negative" in answer["config_error"]
    assert rows(answer, "enabled") == [(False,), (False,)]


def test_under_a_default_stand_those_with_a_call_in_the_window(
    calls: HandMadeLedger, file: Path
) -> None:
    file.write_text("budgets: {per_sender: {default: {daily_usd: 1, monthly_usd: 9}}}")
    assert rows(ask_all(calls.path, NOW, file)) == [
        *EVERYONE,
        ("sender", "ann", "daily"),
        ("sender", "ann", "monthly"),
        ("sender", "bob", "monthly"),
    ]


def test_an_override_stands_without_a_call_but_for_what_it_lifts(
    calls: HandMadeLedger, file: Path
) -> None:
    file.write_text(
        """
        budgets:
          per_sender:
            default: {daily_usd: 1}
            overrides: {zoe: {monthly_usd: 7}, ann: {daily_usd: null}}
        """
    )
    assert rows(ask_all(calls.path, NOW, file), "scope scope_id window limit_usd spent_usd") == [
        ("global", "", "daily", None, 1.0),
        ("global", "", "monthly", None, 2.0),
        ("sender", "zoe", "daily", 1.0, 0.0),
        ("sender", "zoe", "monthly", 7.0, 0.0),
    ]


def test_a_cron_job_that_is_named_stands_under_its_id(
    ledger: HandMadeLedger, file: Path, hermes_home: Path
) -> None:
    jobs = hermes_home / "cron" / "jobs.json"
    jobs.parent.mkdir()
    jobs.write_text(json.dumps({"jobs": [{"id": "0123456789ab", "name": "nightly"}]}))
    ledger.run("run", cron_job_id="0123456789ab")
    ledger.call("run", 3.0, NOW)
    file.write_text(
        "budgets: {per_cron_job: {overrides: {nightly: {daily_usd: 2}, gone: {daily_usd: 1}}}}"
    )
    told = ask_all(ledger.path, NOW, file)
    assert rows(told, "scope_id scope_name limit_usd spent_usd verdict")[2:] == [
        ("0123456789ab", "nightly", 2.0, 3.0, "hard"),
        ("gone", "gone", 1.0, 0.0, "ok"),
    ]


def test_an_override_is_of_the_job_whose_id_it_is_whatever_others_are_called(
    ledger: HandMadeLedger, file: Path, hermes_home: Path
) -> None:
    jobs = hermes_home / "cron" / "jobs.json"
    jobs.parent.mkdir()
    listed = [{"id": "0123456789ab", "name": "a"}, {"id": "ba9876543210", "name": "0123456789ab"}]
    jobs.write_text(json.dumps({"jobs": listed}))
    for job in ("0123456789ab", "ba9876543210"):
        ledger.run(job, cron_job_id=job)
        ledger.call(job, 3.0, NOW)
    file.write_text("budgets: {per_cron_job: {overrides: {0123456789ab: {daily_usd: 2}}}}")
    assert rows(ask_all(ledger.path, NOW, file), "scope_id scope_name verdict")[2:] == [
        ("0123456789ab", "a", "hard")
    ]


def test_scopes_come_in_one_order(ledger: HandMadeLedger, file: Path) -> None:
    ledger.run("s", sender_id="ann", profile="work", cron_job_id="j")
    ledger.call("s", 1.0, NOW)
    default = {"default": {"daily_usd": 1}}
    sections = {"per_profile": default, "per_sender": default, "per_cron_job": default}
    file.write_text(json.dumps({"budgets": sections}))
    assert rows(ask_all(ledger.path, NOW, file)) == [
        *EVERYONE,
        ("cron_job", "j", "daily"),
        ("sender", "ann", "daily"),
        ("profile", "work", "daily"),
    ]
