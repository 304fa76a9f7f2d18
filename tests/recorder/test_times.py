"""A row's time is the moment at which the host called the hook, however long the hook takes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hermes_telemetry.windows import timestamp
from support.recording import Recording
from support.stopped_clock import StoppedClock


class LookedAt(StoppedClock):
    """A clock that goes on by a millisecond at each look."""

    def __init__(self) -> None:
        super().__init__()
        still = self.clock
        self.clock = replace(
            still, now=lambda: self._look(still.now), monotonic=lambda: self._look(still.monotonic)
        )

    def _look(self, read: Callable[[], Any]) -> Any:
        seen = read()
        self.advance(0.001)
        return seen


COLUMNS = [
    ("on_session_start", "runs", "started_at"),
    ("pre_llm_call", "runs", "started_at"),
    ("pre_api_request", "llm_calls", "ts"),  # of the call before, which was cut off
    ("post_api_request", "llm_calls", "ts"),
    ("api_request_error", "llm_call_errors", "ts"),
    ("api_request_error", "model_unavailable_alerts", "first_seen_at"),
    ("post_tool_call", "tool_calls", "ts"),
    ("post_llm_call", "runs", "ended_at"),
    ("subagent_start", "subagent_edges", "started_at"),
    ("subagent_stop", "subagent_edges", "stopped_at"),
    ("subagent_stop", "tool_calls", "ts"),
    ("on_session_end", "runs", "ended_at"),
]


@pytest.mark.parametrize(("hook", "table", "column"), COLUMNS)
def test_a_row_has_the_time_at_which_its_hook_was_called(
    hook: str, table: str, column: str, recording: Recording
) -> None:
    looked_at = Recording(recording.home, LookedAt())
    looked_at.close()
    for number in (1, 2, 3):  # a process notes each hook at its first call, at another look
        called = looked_at.time.seconds
        looked_at.fire(
            hook,
            session_id=f"s{number}",
            parent_session_id="s",
            child_session_id=f"c{number}",
            turn_id="t",
            api_call_count=number,
            model=f"m{number}",
            status_code=404,
            retryable=False,
        )
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert looked_at.rows(table)[-1][column] == timestamp(noon + timedelta(seconds=called))
