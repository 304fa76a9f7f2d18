"""What the host passes to its hooks, in the fewest words that make a row that can be told apart."""

from typing import Any

PRICES = """
models:
  fake-model:
    input: 3
    output: 15
"""
"""A pricing.yaml under which every call of `answered` costs something."""


def answered(session: str, number: int) -> dict[str, Any]:
    """A post_api_request: the ``number``-th call of a session, ``number`` fresh input tokens."""
    turn = f"{session}:task:{number:08x}"
    return {
        "session_id": session,
        "task_id": "task",
        "turn_id": turn,
        "api_request_id": f"{turn}:api:1",
        "api_call_count": 1,
        "model": "fake-model",
        "provider": "custom",
        "api_duration": 0.25,
        "usage": {"input_tokens": number, "output_tokens": 7},
    }


def tool_done(session: str, number: int) -> dict[str, Any]:
    """A post_tool_call. Nothing keeps a tool row from being written twice: it shows doubles."""
    return {
        "session_id": session,
        "turn_id": f"{session}:task:{number:08x}",
        "tool_call_id": f"{session}/{number}",
        "tool_name": "terminal",
        "result": '{"output": "done"}',
        "status": "ok",
        "duration_ms": 12,
    }
