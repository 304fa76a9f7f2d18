"""A budget that changes, and a ledger, a clock or a machine that fails, while sessions go on."""

import json
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path
from hermes_telemetry.store.migrations import migrate
from support.budgets import (
    DAILY_DOLLAR,
    PRICES,
    begin,
    blocked,
    levels,
    limit,
    set_budget,
    spend,
    told,
    without_threads,
)
from support.locks import exclusive_mode_elsewhere, write_transaction_elsewhere
from support.processes import run
from support.recording import Recording
from support.threads import wait_for_threads

pytestmark = pytest.mark.usefixtures("known_prices")


def test_a_raised_limit_holds_without_a_restart(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert blocked(recording, "s") is not None
    limit(recording, {"global": {"daily_usd": 1.5}})
    assert blocked(recording, "s") is None


def test_another_time_zone_holds_without_a_restart(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    recording.time.advance(11 * 3600)  # 23:00 UTC, 01:00 of the next day in Madrid
    assert blocked(recording, "s") is None
    limit(recording, {"global": DAILY_DOLLAR}, timezone="UTC")
    blocked(recording, "s")  # from here on the new zone's days are counted
    wait_for_threads()
    assert "resets at 2026-07-02 00:00 (UTC)" in (blocked(recording, "s") or "")


def test_where_nothing_is_known_the_gate_is_open_and_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "pricing.yaml").write_text(json.dumps(PRICES), encoding="utf-8")
    set_budget(tmp_path, {"global": DAILY_DOLLAR})
    migrate(database_path(tmp_path))
    new = Recording(tmp_path)
    with exclusive_mode_elsewhere(new.path):
        begin(new, "s")
        spend(new, "s", 2)
        assert (blocked(new, "s"), blocked(new, "s")) == (None, None)
        assert [line for line in new.said if "gate is open" in line] == [
            "WARNING: the budget gate is open: what was spent so far cannot be read from"
            f" {new.path} yet"
        ]
    for _ in range(3):  # what waited comes in, and all is counted by the third call at the latest
        new.time.advance(5)
        spend(new, "s", 0.01)
    assert "has spent $2.03" in (blocked(new, "s") or "")
    new.close()


def test_while_another_process_writes_the_last_known_totals_decide(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    with write_transaction_elsewhere(recording.path):
        assert blocked(recording, "s") is not None
    spend(recording, "s", 0.01)
    assert [row[-1] for row in levels(recording)] == ["hard"]


def test_a_fault_in_the_budget_stops_neither_tool_nor_record_nor_other_notices(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a limit of 0")

    monkeypatch.setattr("hermes_telemetry.budget.gate.judge", fail)
    spend(recording, "s", 2)
    recording.fire(
        "api_request_error", session_id="s", model="gone", status_code=404, retryable=False
    )
    assert blocked(recording, "s") is None
    assert "404" in (told(recording, "s") or "")
    assert recording.row("llm_calls")["cost_usd"] == 2
    assert [line for line in recording.said if "budget" in line] == [
        "ERROR: the budget gate is open, it failed: ZeroDivisionError('a limit of 0')"
    ]


def test_a_bad_file_leaves_the_last_good_budget_in_force(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    (recording.home / "budget.yaml").write_text("budgets: {global: {daily_usd: -1}}\n")
    recording.time.advance(1)
    assert blocked(recording, "s") is not None
    (said,) = [line for line in recording.said if line.startswith("ERROR")]
    assert "budget.yaml" in said


def test_a_budget_that_is_taken_away_limits_nothing_any_more(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert blocked(recording, "s") is not None
    (recording.home / "budget.yaml").unlink()
    recording.time.advance(1)
    assert blocked(recording, "s") is None


def test_a_budget_in_a_relative_home_is_that_of_the_folder_where_the_process_began(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(recording.home.parent)
    monkeypatch.setenv("HERMES_TELEMETRY_HOME", ".")
    one = Recording(Path("telemetry"), recording.time)
    begin(one, "s")
    monkeypatch.chdir(tmp_path)
    limit(recording, {"global": DAILY_DOLLAR})
    begin(one, "s")
    spend(one, "s", 1)
    assert blocked(one, "s") is not None
    one.close()


def test_another_ledger_in_its_place_is_what_counts(recording: Recording, tmp_path: Path) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert blocked(recording, "s") is not None
    for file in recording.home.glob("telemetry.db*"):
        file.rename(tmp_path / file.name)
    spend(recording, "s", 0.5)
    assert blocked(recording, "s") is None
    spend(recording, "s", 0.5)
    assert "has spent $1.00" in (blocked(recording, "s") or "")


def test_a_clock_that_is_set_back_by_a_month_is_followed(recording: Recording) -> None:
    limit(recording, {"global": {"monthly_usd": 1}})
    begin(recording, "s")
    spend(recording, "s", 0.75)
    recording.time.advance(-15 * 24 * 3600)  # to the 16th of June
    assert blocked(recording, "s") is None
    spend(recording, "s", 0.5)
    recording.time.advance(5)
    assert blocked(recording, "s") is None
    spend(recording, "s", 0.5)
    assert "has spent $1.00" in (blocked(recording, "s") or "")
    assert not any(line.startswith("ERROR") for line in recording.said)


def test_without_threads_the_gate_is_open_until_there_are_some(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    with monkeypatch.context() as crowded:
        without_threads(crowded)
        begin(recording, "s")
        spend(recording, "s", 1)
        assert blocked(recording, "s") is None
        assert len([line for line in recording.said if "the budget gate is open" in line]) == 1
    recording.time.advance(5)
    assert blocked(recording, "s") is not None


def test_an_alert_that_no_ledger_takes_does_not_open_the_gate(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    recording.change(
        "create trigger no_alerts before insert on budget_alerts"
        " begin select raise(abort, 'not here'); end"
    )
    spend(recording, "s", 1)
    assert [blocked(recording, "s") is None for _ in range(2)] == [False, False]
    assert [line for line in recording.said if line.startswith("ERROR")] == [
        "ERROR: what limits say is not noted in the ledger: IntegrityError('not here')"
    ]


LAST_CALL = """
import os, sys
from hermes_telemetry.recorder import Recorder

hooks = Recorder().hooks()
hooks["on_session_start"](session_id="s", platform="cli")
hooks["post_api_request"](
    session_id="s", turn_id="t", api_request_id="t:api:1", model="paid", provider="custom",
    usage={"input_tokens": 100_000},
)
os._exit(0)
"""


def test_what_the_last_call_crosses_is_on_disk_when_the_host_leaves_at_once(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    assert run(LAST_CALL) == 0
    (alert,) = recording.rows("budget_alerts")
    assert (alert["level"], alert["spent_usd"]) == ("hard", 1)
