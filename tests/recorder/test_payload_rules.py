"""What single fields of a payload mean, case by case."""

import math
import uuid
from collections import UserDict
from typing import Any

import pytest

from support.hostile import Platform, Untouchable, UntouchableMapping
from support.recording import Recording

ABSENT = object()

UNREADABLE = [
    pytest.param(math.inf, id="inf"),
    pytest.param(-math.inf, id="minus inf"),
    pytest.param(math.nan, id="nan"),
    pytest.param(-0.25, id="negative"),
    pytest.param("0.25", id="text"),
    pytest.param(True, id="bool"),
    pytest.param(10**30, id="huge"),
    pytest.param(None, id="none"),
    pytest.param(ABSENT, id="absent"),
]


def payload(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not ABSENT}


def failed(**fields: Any) -> dict[str, Any]:
    """A 404 of the first attempt of a call."""
    fields = {"session_id": "s", "model": "gone", "provider": "custom", "status_code": 404} | fields
    return payload(**{"turn_id": "s:t:1", "api_request_id": "s:t:1:api:1"} | fields)


@pytest.mark.parametrize(("seconds", "ms"), [(0.25, 250), (0, 0), (2, 2000), (1e-4, 0)])
def test_a_duration_without_a_clock_of_ours_is_the_hosts(
    seconds: float, ms: int, recording: Recording
) -> None:
    recording.fire("post_api_request", session_id="s", api_duration=seconds)
    recording.fire("api_request_error", **failed(api_duration=seconds))
    assert recording.row("llm_calls")["latency_ms"] == ms
    assert recording.row("llm_call_errors")["duration_ms"] == ms


@pytest.mark.parametrize("seconds", UNREADABLE)
def test_an_unreadable_duration_is_null_and_costs_neither_row_nor_alert(
    seconds: Any, recording: Recording
) -> None:
    recording.fire("post_api_request", **payload(session_id="s", api_duration=seconds))
    recording.fire("api_request_error", **failed(api_duration=seconds, retryable=False))

    assert recording.row("llm_calls")["latency_ms"] is None
    assert recording.row("llm_call_errors")["duration_ms"] is None
    alert = recording.row("model_unavailable_alerts")
    assert (alert["model"], alert["provider"], alert["occurrences"]) == ("gone", "custom", 1)


@pytest.mark.parametrize("seconds", [*UNREADABLE, pytest.param(40.0, id="with the back-off")])
def test_an_attempt_is_timed_by_its_own_clock(seconds: Any, recording: Recording) -> None:
    attempt = failed(api_call_count=1, retryable=True, api_duration=seconds)
    for took in (1.5, 0.5):
        recording.fire("pre_api_request", **attempt)
        recording.time.advance(took)
        recording.fire("api_request_error", **attempt)
        recording.time.advance(30)  # the host waits before it tries again
    recording.fire("pre_api_request", **attempt)
    recording.time.advance(0.125)
    recording.fire("post_api_request", **attempt)

    assert [row["duration_ms"] for row in recording.rows("llm_call_errors")] == [1500, 500]
    assert recording.row("llm_calls")["latency_ms"] == 125


@pytest.mark.parametrize(
    ("retryable", "stored", "alerts"),
    [
        pytest.param(False, 0, 1, id="false"),
        pytest.param(True, 1, 0, id="true"),
        pytest.param(ABSENT, None, 0, id="absent"),
        pytest.param(None, None, 0, id="none"),
        pytest.param(0, None, 0, id="zero is not false"),
        pytest.param("False", None, 0, id="a text is not false"),
    ],
)
def test_a_404_is_an_alert_only_where_the_host_says_that_it_is_final(
    retryable: Any, stored: int | None, alerts: int, recording: Recording
) -> None:
    recording.fire("api_request_error", **failed(retryable=retryable))
    assert recording.row("llm_call_errors")["retryable"] == stored
    assert len(recording.rows("model_unavailable_alerts")) == alerts


@pytest.mark.parametrize(
    ("retryable", "retry_count", "max_retries", "status"),
    [
        (True, 0, 3, "running"),
        (True, 1, 3, "running"),
        (True, 2, 3, "error"),
        (True, 0, 1, "error"),
        (False, 0, 3, "error"),
        (ABSENT, 2, 3, "error"),
        (ABSENT, 1, 3, "running"),
        (True, 2, ABSENT, "running"),
        (True, "2", "3", "running"),
        (True, math.nan, 3, "running"),
        (True, -1, 3, "running"),
        (True, 2.0, 3.0, "error"),
    ],
)
def test_the_last_attempt_closes_the_run(
    retryable: Any, retry_count: Any, max_retries: Any, status: str, recording: Recording
) -> None:
    fields = {"retryable": retryable, "retry_count": retry_count, "max_retries": max_retries}
    recording.fire("api_request_error", **failed(status_code=500, **fields))
    assert recording.status() == (status, status == "error")


NESTED = {"type": "NotFoundError", "message": "no such model"}
FLAT = {"error_type": "APIError", "error_message": "it failed", "api_kwargs": {"model": "flat"}}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param(FLAT | {"error": NESTED}, ("NotFoundError", "no such model"), id="nested"),
        pytest.param(FLAT, ("APIError", "it failed"), id="flat"),
        pytest.param(FLAT | {"error": None}, ("APIError", "it failed"), id="nested none"),
        pytest.param(FLAT | {"error": "text"}, ("APIError", "it failed"), id="nested of no use"),
        pytest.param(
            FLAT | {"error": {"type": "", "message": "no such model"}},
            ("APIError", "no such model"),
            id="nested in part",
        ),
        pytest.param(
            FLAT | {"error": UntouchableMapping()}, ("APIError", "it failed"), id="nested raises"
        ),
        pytest.param({"error_message": ValueError("boom")}, ("", "boom"), id="an exception"),
        pytest.param({}, ("", ""), id="neither"),
    ],
)
def test_the_nested_error_is_read_before_the_flat_one(
    fields: dict[str, Any], told: tuple[str, str], recording: Recording
) -> None:
    recording.fire("api_request_error", **failed(**fields))
    row = recording.row("llm_call_errors")
    assert (row["error_type"], row["error_message"]) == told


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({"request": {"body": {"model": "in the body"}}, "model": "flat"} | FLAT, "in the body"),
        ({"request": {"body": {}}, "model": "named"} | FLAT, "named"),
        ({"request": "text", "model": None} | FLAT, "flat"),
        ({"request": UntouchableMapping(), "model": None, "api_kwargs": 3}, ""),
    ],
)
def test_the_failed_model_is_the_one_that_was_asked_for(
    fields: dict[str, Any], model: str, recording: Recording
) -> None:
    recording.fire("api_request_error", **failed(**fields))
    assert recording.row("llm_call_errors")["model"] == model


@pytest.mark.parametrize(
    ("fields", "ok"),
    [
        ({"status": "ok"}, 1),
        ({"status": "success", "result": '{"error": "ignored"}'}, 1),
        ({"status": "completed"}, 1),
        ({"status": "error", "result": "fine"}, 0),
        ({"status": "blocked"}, 0),
        ({"status": "cancelled"}, 0),
        ({"status": "timeout"}, 0),
        ({"status": None, "result": '{"output": "x", "error": null}'}, 1),
        ({"status": "", "result": ' \n{"error": "it broke"}'}, 0),
        ({"status": True, "result": '{"error": {"code": 1}}'}, 0),
        ({"result": '{"error": ""}'}, 1),
        ({"result": '{"error": "cut o'}, 1),
        ({"result": '["error"]'}, 1),
        ({"result": 'a text with "error" in it'}, 1),
        ({"result": {"error": "it broke"}}, 0),
        ({"result": {"error": None}}, 1),
        ({"result": {"error": Untouchable()}}, 0),
        ({"result": '{"output": "%s", "error": "x"}' % ("x" * 100_000)}, 0),
        ({}, 1),
    ],
)
def test_a_tool_call_is_ok_by_its_status_and_else_by_its_result(
    fields: dict[str, Any], ok: int, recording: Recording
) -> None:
    recording.fire("post_tool_call", session_id="s", tool_name="terminal", **fields)
    assert recording.row("tool_calls")["ok"] == ok


FULL = {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 5}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        pytest.param(FULL, (100, 20, 5, 0), id="dict"),
        pytest.param(UserDict(FULL), (100, 20, 5, 0), id="like a dict"),
        pytest.param(dict.fromkeys(FULL, 7.0), (7, 7, 7, 0), id="floats"),
        pytest.param(FULL | {"input_tokens": True}, (0, 20, 5, 0), id="a bool is no count"),
        pytest.param(FULL | {"input_tokens": "100"}, (0, 20, 5, 0), id="a text is no count"),
        pytest.param(FULL | {"input_tokens": 10**30}, (0, 20, 5, 0), id="huge is no count"),
        pytest.param(FULL | {"input_tokens": math.nan}, (0, 20, 5, 0), id="nan"),
        pytest.param(FULL | {"input_tokens": object()}, (0, 20, 5, 0), id="an object"),
        pytest.param({"output_tokens": 20}, (0, 20, 0, 0), id="one count"),
        pytest.param(dict.fromkeys(FULL, 0), (0, 0, 0, 0), id="nothing used"),
        # The prompt of 9 tokens excluded the 12 cached ones already.
        pytest.param(
            {"input_tokens": -3, "prompt_tokens": 9, "cache_read_tokens": 12},
            (9, 0, 12, 1),
            id="negative",
        ),
        # Estimated: the 30 tokens that pre_api_request told, 9 characters of answer.
        pytest.param(None, (30, 3, 0, 1), id="none"),
        pytest.param({}, (30, 3, 0, 1), id="empty"),
        pytest.param(dict.fromkeys(FULL), (30, 3, 0, 1), id="nones"),
        pytest.param(dict.fromkeys(FULL, "20"), (30, 3, 0, 1), id="no number at all"),
        # What is priced is not among these counts, or none of it can be one.
        pytest.param({"prompt_tokens": 9}, (30, 3, 0, 1), id="a prompt only"),
        pytest.param(
            dict.fromkeys(FULL, "20") | {"prompt_tokens": 9}, (30, 3, 0, 1), id="a prompt and texts"
        ),
        pytest.param(dict.fromkeys(FULL, 10**30), (30, 3, 0, 1), id="nothing but huge"),
        pytest.param({"input_tokens": -3}, (30, 3, 0, 1), id="nothing but negative"),
        pytest.param([100, 20], (30, 3, 0, 1), id="list"),
        pytest.param(UntouchableMapping(), (30, 3, 0, 1), id="raises"),
    ],
)
def test_tokens_are_what_the_host_counted_and_else_estimated(
    usage: Any, tokens: tuple[int, int, int, int], recording: Recording
) -> None:
    ids = {"session_id": "s", "turn_id": "s:t:1", "api_request_id": "s:t:1:api:1"}
    recording.fire("pre_api_request", **ids, approx_input_tokens=30)
    recording.fire("post_api_request", **ids, assistant_content_chars=9, usage=usage)
    row = recording.row("llm_calls")
    assert tokens == (
        row["tokens_in"],
        row["tokens_out"],
        row["cache_read_tokens"],
        row["estimated"],
    )


def test_a_payload_is_read_and_not_changed(recording: Recording) -> None:
    usage = dict(FULL)
    recording.fire("post_api_request", session_id="s", usage=usage)
    assert usage == FULL
    usage["input_tokens"] = 10**9
    recording.fire("post_api_request", session_id="s", usage=dict(FULL))
    assert [row["tokens_in"] for row in recording.rows("llm_calls")] == [100, 100]


def test_sums_of_the_largest_counts_stay_whole_numbers(recording: Recording) -> None:
    largest = 10**12
    for number in range(12):
        turn = f"s:t:{number}"
        at_most = dict.fromkeys(FULL, largest)
        recording.fire("post_api_request", session_id="s", turn_id=turn, usage=at_most)
        recording.fire("pre_api_request", session_id="s", turn_id=turn, approx_input_tokens=largest)
        recording.fire(
            "post_api_request", session_id="s", turn_id=turn, assistant_content_chars=largest
        )
        for beyond in (largest + 1, 10**15, 2**62, 2**63, 10**30):
            usage = dict.fromkeys(FULL, beyond)
            recording.fire("post_api_request", session_id="s", usage=usage)
            recording.fire("pre_api_request", session_id="s", approx_input_tokens=beyond)
            recording.fire("post_api_request", session_id="s", assistant_content_chars=beyond)
    run = recording.row("runs")
    # Each prompt without a usage is half cached, as the one before; 4 characters make a token.
    assert (run["tokens_in"], run["cache_read_tokens"]) == (18 * largest, 18 * largest)
    assert run["tokens_out"] == 12 * largest + 3 * largest
    assert type(run["tokens_in"]) is int


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        pytest.param("s", "s", id="text"),
        pytest.param("", "(unknown)", id="empty"),
        pytest.param(None, "(unknown)", id="none"),
        pytest.param(ABSENT, "(unknown)", id="absent"),
        pytest.param("a\0b", "a\ufffdb", id="nul"),
        pytest.param("\ud83d", "\ufffd", id="half a character"),
        pytest.param("x" * 10_000, "x" * 512, id="10 kB"),
        pytest.param(42, "42", id="number"),
        pytest.param(10**30, "1" + "0" * 30, id="long number"),
        pytest.param(math.nan, "(unknown)", id="nan"),
        pytest.param(True, "(unknown)", id="bool"),
        pytest.param(uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", id="uuid"),
        pytest.param(Platform.CLI, "cli", id="enum of texts"),
        pytest.param(["s"], "(unknown)", id="list"),
        pytest.param({"id": "s"}, "(unknown)", id="dict"),
        pytest.param(object(), "(unknown)", id="object"),
    ],
)
def test_an_id_is_text_that_can_be_stored(given: Any, stored: str, recording: Recording) -> None:
    recording.fire("post_api_request", **payload(session_id=given))
    recording.fire("post_tool_call", **payload(session_id=given))
    recording.fire("api_request_error", **payload(session_id=given))
    for table in ("llm_calls", "tool_calls", "llm_call_errors", "runs"):
        assert recording.row(table)["session_id"] == stored


def test_ids_that_are_empty_are_null_and_never_merge_two_calls(recording: Recording) -> None:
    for turn_id, request_id in (("t", ""), ("t", None), ("", "r"), ("", ""), ("t", ["r"])):
        for _ in range(2):
            ids = {"turn_id": turn_id, "api_request_id": request_id, "task_id": ""}
            recording.fire("post_api_request", session_id="s", usage=FULL, **ids)
    rows = recording.rows("llm_calls")
    assert [(row["turn_id"], row["api_request_id"], row["task_id"]) for row in rows] == [
        *[("t", None, None)] * 4,
        *[(None, "r", None)] * 2,
        *[(None, None, None)] * 2,
        *[("t", None, None)] * 2,
    ]
