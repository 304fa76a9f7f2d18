"""From what the host's hooks tell to the rows that are written, of all but answered calls
(``accounting.py``): runs, failed attempts, tools and delegation. Times are stored UTC text.
"""

from __future__ import annotations

from .payloads import (
    UNKNOWN_SESSION,
    FailedAttempt,
    SessionEnd,
    SubagentStart,
    SubagentStop,
    ToolCall,
)
from .store.calls import PROXY_TOOL
from .store.writes import Write


def failed_attempt(
    failure: FailedAttempt, *, ts: str, duration_ms: int | None, final: bool
) -> list[Write]:
    """A failed attempt, and the alert that its model is gone if that is what it says. ``final``
    closes the run.
    """
    attempt = failure.attempt
    writes = [
        Write(
            "record_llm_call_error",
            {
                "session_id": attempt.session_id,
                "ts": ts,
                "turn_id": attempt.turn_id,
                "task_id": attempt.task_id,
                "api_request_id": attempt.api_request_id,
                "model": failure.model,
                "provider": attempt.provider or "",
                "status_code": failure.status_code,
                "error_type": failure.error_type,
                "error_message": failure.error_message,
                "reason": failure.reason,
                "retryable": None if failure.retryable is None else int(failure.retryable),
                "retry_count": failure.retry_count,
                "max_retries": failure.max_retries,
                "duration_ms": duration_ms,
                "final": final,
            },
        )
    ]
    if says_model_is_gone(failure):
        writes.append(
            Write(
                "record_model_unavailable",
                {
                    "model": failure.model,
                    "provider": attempt.provider or "",
                    "error_code": 404,
                    "error_message": failure.error_message,
                    "ts": ts,
                },
            )
        )
    return writes


def says_model_is_gone(failure: FailedAttempt) -> bool:
    """A 404 that may be retried, or of which the host says nothing, is no statement about the
    model.
    """
    return failure.status_code == 404 and failure.retryable is False and bool(failure.model)


def tool_call(tool: ToolCall, ts: str) -> Write:
    """A tool call that has ended, whatever became of it."""
    return Write(
        "record_tool_call",
        {
            "session_id": tool.session_id,
            "ts": ts,
            "tool_name": tool.tool_name,
            "ok": int(tool.ok),
            "latency_ms": tool.latency_ms,
            "turn_id": tool.turn_id,
            "tool_call_id": tool.tool_call_id,
        },
    )


def subagent_started(start: SubagentStart, ts: str) -> list[Write]:
    """The edge from parent to child; nothing where the host does not name both."""
    if not (start.child_session_id and start.parent_session_id):
        return []
    return [
        Write(
            "start_edge",
            {
                "child_session_id": start.child_session_id,
                "parent_session_id": start.parent_session_id,
                "ts": ts,
                "parent_turn_id": start.parent_turn_id,
                "parent_subagent_id": start.parent_subagent_id,
                "child_subagent_id": start.child_subagent_id,
                "child_role": start.child_role,
            },
        )
    ]


def subagent_stopped(stop: SubagentStop, ts: str) -> list[Write]:
    """The tool row that stands for the subagent, and the end of its edge if its child is named."""
    writes = [
        Write(
            "record_tool_call",
            {
                "session_id": stop.parent_session_id or UNKNOWN_SESSION,
                "ts": ts,
                "tool_name": PROXY_TOOL,
                "ok": int(stop.ok),
                "latency_ms": stop.duration_ms,
                "turn_id": stop.parent_turn_id,
            },
        )
    ]
    if stop.child_session_id:
        writes.append(
            Write(
                "stop_edge",
                {
                    "child_session_id": stop.child_session_id,
                    "parent_session_id": stop.parent_session_id,
                    "ts": ts,
                    "parent_turn_id": stop.parent_turn_id,
                    "parent_subagent_id": stop.parent_subagent_id,
                    "child_role": stop.child_role,
                    "child_status": stop.child_status,
                },
            )
        )
    return writes


def turn_ended(end: SessionEnd, *, ts: str, tells_turn_ids: bool) -> list[Write]:
    """The run's status at the end of a turn; nothing where the host names no session."""
    if not end.session_id:
        return []
    # The terminal interface sends a second end, interrupted and without a turn, at a clean close.
    is_close = end.status == "interrupted" and not end.turn_id and tells_turn_ids
    return [
        Write(
            "end_run",
            {
                "session_id": end.session_id,
                "ts": ts,
                "status": end.status,
                "keep_ok": is_close,
            },
        )
    ]
