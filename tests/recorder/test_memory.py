"""What is remembered between two hooks: for how long, how much of it, and for whom."""

import threading
from typing import Any

import pytest

from hermes_telemetry.turns import NOTICES_KEPT, TURNS_KEPT
from support.recording import Recording


def gone(model: str) -> dict[str, Any]:
    return {"session_id": "s", "model": model, "status_code": 404, "retryable": False}


def told(recording: Recording, *roles: str) -> str | None:
    """What the model is told at the next turn, the last messages of which are by these."""
    history = [{"role": role} for role in roles]
    answer = recording.fire("pre_llm_call", session_id="s", conversation_history=history)
    return None if answer is None else answer["context"]


def test_of_very_many_attempts_the_first_is_timed_by_the_host(recording: Recording) -> None:
    def attempt(number: int) -> dict[str, str]:
        turn = f"s:t:{number}"
        return {"session_id": "s", "turn_id": turn, "api_request_id": f"{turn}:api:1"}

    for number in range(TURNS_KEPT + 1):
        recording.fire("pre_api_request", **attempt(number))
    recording.time.advance(2)
    for number in (0, 1, TURNS_KEPT):
        recording.fire("post_api_request", **attempt(number), api_duration=0.25)

    assert [row["latency_ms"] for row in recording.rows("llm_calls")] == [250, 2000, 2000]


def test_a_turn_that_goes_on_is_remembered_longer_than_one_that_does_not(
    recording: Recording,
) -> None:
    def call(number: int) -> dict[str, Any]:
        return {"session_id": "s", "turn_id": f"s:t:{number}", "usage": None}

    halves = {"input_tokens": 1, "cache_read_tokens": 1}
    for number in range(TURNS_KEPT):
        recording.fire("post_api_request", **call(number) | {"usage": halves})
    recording.fire("post_api_request", **call(0))  # it is divided like the turn's former call
    recording.fire("post_api_request", **call(TURNS_KEPT) | {"usage": halves})
    recording.forget("llm_calls")

    for number in (0, 1):
        recording.fire("pre_api_request", **call(number), approx_input_tokens=10)
        recording.fire("post_api_request", **call(number))
    assert [row["cache_read_tokens"] for row in recording.rows("llm_calls")] == [5, 0]


def test_the_newest_notices_of_a_session_are_told_and_no_more_than_a_few(
    recording: Recording,
) -> None:
    for number in range(NOTICES_KEPT + 4):
        recording.fire("api_request_error", **gone(f"model-{number}"))
    notices = (told(recording) or "").split("\n\n")
    assert len(notices) == NOTICES_KEPT
    assert "model-4:" in notices[0]
    assert f"model-{NOTICES_KEPT + 3}:" in notices[-1]


def test_a_notice_waits_for_a_turn_in_which_the_model_is_told(recording: Recording) -> None:
    recording.fire("api_request_error", **gone("m"))
    assert told(recording, "assistant", "user", "user") is None
    assert "404" in (told(recording, "user", "assistant", "user") or "")


def test_a_session_that_begins_anew_is_told_nothing_of_the_one_before(
    recording: Recording,
) -> None:
    recording.fire("api_request_error", **gone("m"))
    recording.fire("on_session_reset", session_id="s", reason="new_session")
    assert told(recording) is None


def test_a_failures_text_is_cut_at_500_characters_in_ledger_and_alert(
    recording: Recording,
) -> None:
    text = "word " * 200
    recording.fire("api_request_error", **gone("m"), error={"message": text})
    assert recording.row("llm_call_errors")["error_message"] == text[:500]
    assert recording.row("model_unavailable_alerts")["error_message"] == text[:500]


def test_every_hook_is_noted_at_its_first_call_with_the_next_record(recording: Recording) -> None:
    recording.fire("pre_tool_call", session_id="s")  # records nothing itself
    recording.time.advance(1)
    for _ in range(2):
        recording.fire("post_tool_call", session_id="s")
        recording.time.advance(1)

    assert [
        (row["cache_name"], row["cache_key"], row["rows_count"], row["built_at"])
        for row in recording.rows("endpoint_payload_cache")
    ] == [
        ("hooks", "pre_tool_call", 1, "2026-07-01T12:00:00.000000+00:00"),
        ("hooks", "post_tool_call", 1, "2026-07-01T12:00:01.000000+00:00"),
    ]


def test_without_a_thread_to_be_had_the_first_hook_records(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    recording.fire("post_api_request", session_id="s", usage={"input_tokens": 5})
    assert recording.row("llm_calls")["tokens_in"] == 5
    assert recording.said == []
