"""The wall clock is set back an hour, or forward a day, while a call is under way."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.windows import Clock
from support.hook_payloads import answered, tool_done
from support.ledger_facts import ask_ledger

CALL_S = 2.5
ATTEMPT_S = 0.75


class Clocks:
    """A wall clock that can be set, and a monotonic one that cannot. Noon of 1 July at first."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 7, 1, 12, tzinfo=UTC)
        self._seconds = 1000.0
        self.clock = Clock(
            now=lambda: self.wall, monotonic=lambda: self._seconds, sleep=self.let_pass
        )

    def let_pass(self, seconds: float) -> None:
        self._seconds += seconds
        self.wall += timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("change", "ended_at", "run_ms"),
    [
        pytest.param(timedelta(hours=-1), "2026-07-01T11:00:04.250000+00:00", 0, id="an hour back"),
        pytest.param(
            # As far as the wall clock tells, the run took a day and 4.25 seconds.
            timedelta(days=1),
            "2026-07-02T12:00:04.250000+00:00",
            86_404_250,
            id="a day forward",
        ),
    ],
)
def test_latencies_follow_the_monotonic_clock_and_no_duration_is_negative(
    change: timedelta, ended_at: str, run_ms: int, home: Path, path: Path
) -> None:
    clocks = Clocks()
    hooks = Recorder(home, clock=clocks.clock).hooks()
    call = answered("s", 1)
    hooks["on_session_start"](session_id="s", platform="cli", model="fake-model")
    hooks["pre_api_request"](**call)
    clocks.let_pass(ATTEMPT_S)
    hooks["api_request_error"](
        **call | {"status_code": 429, "retryable": True, "retry_count": 0, "max_retries": 3}
    )
    hooks["pre_api_request"](**call)
    clocks.let_pass(1)
    clocks.wall += change
    clocks.let_pass(CALL_S - 1)
    hooks["post_api_request"](**call)
    hooks["post_tool_call"](**tool_done("s", 1))
    clocks.let_pass(1)
    hooks["on_session_end"](session_id="s", turn_id="t", completed=True, interrupted=False)

    assert ask_ledger(path, "select duration_ms from llm_call_errors") == [(750,)]
    assert ask_ledger(path, "select latency_ms from llm_calls") == [(2500,)]
    assert ask_ledger(path, "select latency_ms from tool_calls") == [(12,)]
    assert ask_ledger(path, "select status, ended_at, duration_ms from runs") == [
        ("ok", ended_at, run_ms)
    ]
