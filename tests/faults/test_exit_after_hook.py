"""The host leaves by `os._exit` right after a hook: what the hook had to say is on disk."""

from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.recorder import Recorder
from support.hook_payloads import answered, tool_done
from support.ledger_facts import ask_ledger, tool_call_ids
from support.processes import fork

SESSION = {"session_id": "s", "turn_id": "s:t:1", "task_id": "t"}

Hook = tuple[str, dict[str, Any]]


def attempt(number: int) -> Hook:
    return "pre_api_request", SESSION | {
        "api_request_id": f"s:t:1:api:{number}",
        "api_call_count": number,
        "model": "fake-model",
        "provider": "custom",
        "approx_input_tokens": 40,
        "max_tokens": 100,
    }


FAILURE: Hook = (
    "api_request_error",
    SESSION
    | {
        "api_request_id": "s:t:1:api:1",
        "model": "fake-model",
        "provider": "custom",
        "status_code": 404,
        "retryable": False,
        "error": {"type": "NotFoundError", "message": "no such model"},
    },
)

CHILD = {"parent_session_id": "s", "parent_turn_id": "s:t:1", "child_session_id": "c"}


SPEAKING = [
    pytest.param(
        [("on_session_start", {"session_id": "s", "platform": "cli", "model": "m"})],
        "select session_id, platform, model, status from runs",
        [("s", "cli", "m", "running")],
        id="on_session_start",
    ),
    pytest.param(
        [("pre_llm_call", SESSION | {"sender_id": "ann", "is_first_turn": True})],
        "select session_id, sender_id, status from runs",
        [("s", "ann", "running")],
        id="pre_llm_call",
    ),
    pytest.param(
        # The second attempt tells that the first was cut at its length: a row of estimates.
        [attempt(1), attempt(2)],
        "select api_request_id, tokens_in, tokens_out, estimated from llm_calls",
        [("s:t:1:api:1", 40, 100, 1)],
        id="pre_api_request",
    ),
    pytest.param(
        [("post_api_request", answered("s", 5))],
        "select session_id, tokens_in, tokens_out, estimated from llm_calls",
        [("s", 5, 7, 0)],
        id="post_api_request",
    ),
    pytest.param(
        [FAILURE],
        """
        select llm_call_errors.status_code, error_code, occurrences, runs.status
        from llm_call_errors, model_unavailable_alerts, runs
        """,
        [(404, 404, 1, "error")],
        id="api_request_error",
    ),
    pytest.param(
        [("post_tool_call", tool_done("s", 5))],
        "select session_id, tool_name, ok, latency_ms from tool_calls",
        [("s", "terminal", 1, 12)],
        id="post_tool_call",
    ),
    pytest.param(
        [("post_llm_call", SESSION)],
        "select session_id, status, ended_at is not null from runs",
        [("s", "running", 1)],
        id="post_llm_call",
    ),
    pytest.param(
        [("subagent_start", CHILD)],
        "select child_session_id, parent_session_id, stopped_at from subagent_edges",
        [("c", "s", None)],
        id="subagent_start",
    ),
    pytest.param(
        [("subagent_stop", CHILD | {"child_status": "completed", "duration_ms": 9})],
        """
        select child_status, stopped_at is not null, tool_name, ok, latency_ms
        from subagent_edges, tool_calls
        """,
        [("completed", 1, "delegate_task/subagent", 1, 9)],
        id="subagent_stop",
    ),
    pytest.param(
        [("on_session_end", SESSION | {"completed": True, "interrupted": False})],
        "select session_id, status, ended_at is not null from runs",
        [("s", "ok", 1)],
        id="on_session_end",
    ),
    pytest.param(
        [
            ("post_tool_call", tool_done("s", 5)),
            ("on_session_finalize", {"session_id": "s", "platform": "cli"}),
        ],
        "select session_id, status, ended_at is not null from runs",
        [("s", "ok", 1)],
        id="on_session_finalize",
    ),
]

SILENT = [
    ("pre_tool_call", SESSION | {"tool_name": "terminal", "args": {}}),
    ("on_session_reset", {"session_id": "s", "platform": "cli", "reason": "reset"}),
]


@pytest.mark.parametrize(("hooks", "question", "on_disk"), SPEAKING)
def test_what_the_hook_says_is_on_disk(
    hooks: list[Hook], question: str, on_disk: list[tuple[Any, ...]], home: Path, path: Path
) -> None:
    assert fork(lambda: fire(home, hooks)) == 0

    assert ask_ledger(path, question) == on_disk


@pytest.mark.parametrize("silent", SILENT)
def test_hooks_that_record_nothing_take_nothing_away(silent: Hook, home: Path, path: Path) -> None:
    assert fork(lambda: fire(home, [("post_tool_call", tool_done("s", 5)), silent])) == 0

    assert tool_call_ids(path) == ["s/5"]


def test_every_hook_is_tried_here(home: Path) -> None:
    last_hooks = {case.values[0][-1][0] for case in SPEAKING}
    silent_hooks = {hook for hook, _ in SILENT}

    assert last_hooks | silent_hooks == set(Recorder(home).hooks())


def fire(home: Path, hooks: list[Hook]) -> None:
    """Fire hooks one after the other; the process then leaves without another word."""
    recorder = Recorder(home).hooks()
    for hook, payload in hooks:
        recorder[hook](**payload)
