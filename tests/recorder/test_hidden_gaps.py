"""What the host's hooks do not say, or say twice, late or on another thread."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.recording import Recording
from support.stopped_clock import StoppedClock

TURN = "s:t:00000001"


def call(number: int = 1, turn: str = TURN, **fields: Any) -> dict[str, Any]:
    """What the hooks of one model call share."""
    return {
        "session_id": "s",
        "task_id": "t",
        "turn_id": turn,
        "api_request_id": f"{turn}:api:{number}",
        "api_call_count": number,
        "model": "fake-model",
        "provider": "custom",
        "telemetry_schema_version": "hermes.observer.v1",
    } | fields


def usage(fresh: int, cached: int = 0, out: int = 0) -> dict[str, int]:
    return {"input_tokens": fresh, "cache_read_tokens": cached, "output_tokens": out}


def on_a_thread_named(name: str, work: Callable[[], Any]) -> Any:
    returned: list[Any] = []
    thread = threading.Thread(target=lambda: returned.append(work()), name=name)
    thread.start()
    thread.join()
    return returned[0]


class RealPauses(StoppedClock):
    """Time stands still even while a thread waits for another."""

    def advance(self, seconds: float) -> None:
        time.sleep(seconds)


def test_tools_that_run_side_by_side_are_all_recorded(recording: Recording) -> None:
    recording = Recording(recording.home, RealPauses())
    everyone_is_there = threading.Barrier(8)

    def run(number: int) -> None:
        everyone_is_there.wait(timeout=30)
        for call_number in range(5):
            recording.fire(
                "post_tool_call",
                session_id="s",
                turn_id=TURN,
                tool_name="terminal",
                tool_call_id=f"{number}/{call_number}",
                duration_ms=number,
                status="ok",
            )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))

    tools = recording.rows("tool_calls")
    assert {(row["tool_call_id"], row["latency_ms"]) for row in tools} == {
        (f"{number}/{call_number}", number) for number in range(8) for call_number in range(5)
    }
    assert len(tools) == 40
    assert recording.row("runs")["tool_calls"] == 40
    assert recording.said == []
    recording.close()


def test_attempts_of_two_turns_are_timed_apart_whatever_their_threads(
    recording: Recording,
) -> None:
    other = "c:t:00000001"
    recording.fire("pre_api_request", **call())
    recording.time.advance(1)
    on_a_thread_named("child", lambda: recording.fire("pre_api_request", **call(turn=other)))
    recording.time.advance(1)
    on_a_thread_named("elsewhere", lambda: recording.fire("post_api_request", **call()))
    recording.fire("post_api_request", **call(turn=other))
    assert [(row["turn_id"], row["latency_ms"]) for row in recording.rows("llm_calls")] == [
        (TURN, 2000),
        (other, 1000),
    ]


ENDINGS = {
    "ok": ("on_session_end", {"completed": True}),
    "interrupted": ("on_session_end", {"interrupted": True}),
    "error": ("api_request_error", {"retryable": False}),
}


@pytest.mark.parametrize("status", ENDINGS)
def test_a_background_review_neither_reopens_nor_closes_the_run(
    status: str, recording: Recording
) -> None:
    hook, fields = ENDINGS[status]
    recording.fire("pre_llm_call", session_id="s", turn_id=TURN)
    recording.fire(hook, **call(**fields))
    before = recording.row("runs")
    recording.time.advance(60)

    on_a_thread_named("bg-review", lambda: review(recording))

    after = recording.row("runs")
    assert after["status"] == status
    assert (after["ended_at"], after["duration_ms"]) == (before["ended_at"], before["duration_ms"])
    assert (after["api_calls"], after["tokens_in"]) == (1, 50)
    assert recording.row("llm_calls")["turn_id"] == "s:review:00000002"


def test_a_background_review_leaves_a_running_run_running(recording: Recording) -> None:
    recording.fire("pre_llm_call", session_id="s", turn_id=TURN)
    on_a_thread_named("bg-review", lambda: review(recording))
    assert recording.status() == ("running", False)


def review(recording: Recording) -> None:
    """A whole turn in the background: a failure, an answer, every kind of end."""
    turn = "s:review:00000002"
    recording.fire("on_session_start", session_id="s")
    recording.fire("pre_llm_call", session_id="s", turn_id=turn)
    recording.fire("pre_api_request", **call(turn=turn))
    recording.fire("post_api_request", **call(turn=turn, usage=usage(50)))
    recording.fire("api_request_error", **call(2, turn, retryable=False, status_code=500))
    recording.fire("post_llm_call", session_id="s", turn_id=turn)
    recording.fire("on_session_end", session_id="s", turn_id=turn, interrupted=True)
    recording.fire("on_session_finalize", session_id="s")


def test_a_notice_waits_for_the_user_and_not_for_the_review(recording: Recording) -> None:
    recording.fire("api_request_error", **call(status_code=404, retryable=False))

    def ask() -> Any:
        return recording.fire("pre_llm_call", session_id="s", turn_id=TURN)

    assert on_a_thread_named("bg-review", ask) is None
    assert "fake-model" in ask()["context"]


def test_each_attempt_of_a_fallback_keeps_its_own_model_and_provider(
    recording: Recording,
) -> None:
    failing = call(model="first", provider="one")
    recording.fire("pre_api_request", **failing)
    recording.fire("api_request_error", **failing, retryable=False, status_code=503)
    recording.fire("pre_api_request", **call(model="second", provider="two"))
    recording.fire("post_api_request", **call(model="second", provider="two", usage=usage(5)))

    failure, answer = recording.row("llm_call_errors"), recording.row("llm_calls")
    assert (failure["model"], failure["provider"]) == ("first", "one")
    assert (answer["model"], answer["provider"]) == ("second", "two")
    assert failure["api_request_id"] == answer["api_request_id"] == f"{TURN}:api:1"
    assert recording.status() == ("running", False)


@pytest.mark.parametrize(("max_tokens", "out"), [(4096, 4096), (None, 0), (-1, 0)])
def test_an_answer_cut_at_its_length_is_a_row_of_estimates(
    max_tokens: int | None, out: int, recording: Recording
) -> None:
    # A quarter of the turn's former prompt was fresh.
    recording.fire("pre_api_request", **call(1))
    recording.fire("post_api_request", **call(1, usage=usage(100, 300, 20)))
    cut_off = call(2, approx_input_tokens=800, max_tokens=max_tokens, model="fake-model")
    recording.fire("pre_api_request", **cut_off)
    recording.time.advance(5)
    recording.fire("pre_api_request", **call(3))  # the host goes on without a word
    recording.fire("post_api_request", **call(3, usage=usage(10)))

    _, cut, _ = recording.rows("llm_calls")
    assert cut["api_request_id"] == f"{TURN}:api:2"
    assert (cut["tokens_in"], cut["cache_read_tokens"], cut["tokens_out"]) == (200, 600, out)
    assert (cut["estimated"], cut["latency_ms"]) == (1, None)
    run = recording.row("runs")
    assert (run["api_calls"], run["estimated_llm_calls"]) == (3, 1)


@pytest.mark.parametrize("status", ENDINGS)
def test_an_answer_cut_at_its_length_reopens_no_run(status: str, recording: Recording) -> None:
    hook, fields = ENDINGS[status]
    recording.fire("pre_api_request", **call(1))
    recording.fire(hook, **call(turn="s:t:00000002", **fields))
    recording.fire("pre_api_request", **call(2))
    assert recording.row("llm_calls")["estimated"] == 1
    assert recording.status() == (status, True)


def test_only_a_call_that_was_left_behind_is_estimated(recording: Recording) -> None:
    retried, failed, answered = call(1), call(2), call(3)
    recording.fire("pre_api_request", **retried)
    recording.fire("pre_api_request", **retried)
    recording.fire("post_api_request", **retried, usage=usage(1))
    recording.fire("pre_api_request", **failed)
    recording.fire("api_request_error", **failed, retryable=True, retry_count=0, max_retries=3)
    recording.fire("pre_api_request", **answered)
    recording.fire("post_api_request", **answered, usage=usage(1))
    recording.fire("pre_api_request", **call(1, turn="s:t:00000002"))
    assert [row["estimated"] for row in recording.rows("llm_calls")] == [0, 0]


def test_a_call_without_usage_is_estimated_like_the_call_before(recording: Recording) -> None:
    recording.fire("post_api_request", **call(1, usage=usage(30, 10)))
    recording.fire("pre_api_request", **call(2, approx_input_tokens=1000))
    recording.fire("post_api_request", **call(2, usage=None, assistant_content_chars=41))
    other = call(1, turn="s:t:00000002", approx_input_tokens=1000)
    recording.fire("pre_api_request", **other)
    recording.fire("post_api_request", **other, usage=None)

    _, second, first_of_its_turn = recording.rows("llm_calls")
    assert (second["tokens_in"], second["cache_read_tokens"]) == (750, 250)
    assert (second["tokens_out"], second["estimated"]) == (11, 1)  # 41 / 4, rounded up
    assert (first_of_its_turn["tokens_in"], first_of_its_turn["cache_read_tokens"]) == (1000, 0)


def test_a_provider_without_usage_is_named_once(recording: Recording) -> None:
    for number, provider in enumerate(["silent", "mute", "silent", "mute", "silent"]):
        recording.fire("post_api_request", **call(number, provider=provider, usage=None))
    assert [line for line in recording.said if "usage" in line] == [
        "WARNING: provider 'silent' reports no usage: its calls are estimated",
        "WARNING: provider 'mute' reports no usage: its calls are estimated",
    ]


def test_an_answer_delivered_twice_is_one_call(recording: Recording) -> None:
    answered = call(usage=usage(100, 0, 20))
    recording.fire("pre_api_request", **call())
    recording.time.advance(1)
    for _ in range(2):
        recording.fire("post_api_request", **answered)
        recording.time.advance(9)
    assert recording.row("llm_calls")["latency_ms"] == 1000
    run = recording.row("runs")
    assert (run["api_calls"], run["tokens_in"], run["tokens_out"]) == (1, 100, 20)
    assert run["cost_usd"] == pytest.approx((100 * 3 + 20 * 15) / 1e6)


def test_the_terminals_second_end_keeps_an_ok_run_and_when_it_ended(recording: Recording) -> None:
    recording.fire("on_session_end", **call(completed=True, interrupted=False))
    ended = recording.row("runs")["ended_at"]
    recording.time.advance(60)
    close = {"session_id": "s", "completed": False, "interrupted": True}
    recording.fire("on_session_end", **close, telemetry_schema_version="hermes.observer.v1")
    assert (recording.row("runs")["status"], recording.row("runs")["ended_at"]) == ("ok", ended)

    # On hosts before 0.16 no end has a turn: this one was a turn's.
    recording.fire("on_session_end", **close)
    assert recording.status() == ("interrupted", True)


@pytest.mark.parametrize("status", ENDINGS)
def test_teardown_changes_no_run_that_has_ended(status: str, recording: Recording) -> None:
    hook, fields = ENDINGS[status]
    recording.fire(hook, **call(**fields))
    before = recording.row("runs")
    recording.time.advance(60)
    recording.fire("on_session_finalize", session_id="s", reason="shutdown")
    assert recording.row("runs") == before


def test_teardown_closes_a_running_run(recording: Recording) -> None:
    recording.fire("pre_llm_call", session_id="s")
    recording.fire("on_session_finalize", session_id="s", reason="shutdown")
    recording.fire("on_session_finalize", session_id=None, reason="shutdown")
    assert recording.status() == ("ok", True)


def test_a_success_after_the_last_failure_reopens_the_run(recording: Recording) -> None:
    recording.fire("pre_llm_call", session_id="s")
    for retry in range(3):
        recording.fire(
            "api_request_error", **call(retryable=True, retry_count=retry, max_retries=3)
        )
        assert recording.status() == (("error", True) if retry == 2 else ("running", False))
    recording.fire("post_api_request", **call(2))
    assert recording.status() == ("running", False)
    recording.fire("on_session_end", **call(completed=True))
    assert recording.status() == ("ok", True)


def test_a_model_that_is_gone_is_told_once_per_session_at_its_next_turn(
    recording: Recording,
) -> None:
    def next_turn(session_id: str) -> str | None:
        told = recording.fire("pre_llm_call", session_id=session_id)
        return told and told["context"]

    gone = {"status_code": 404, "retryable": False}
    for model in ("gone", "gone", "gone too"):
        recording.fire("api_request_error", **call(model=model, **gone))
    recording.fire("api_request_error", **call(session_id="other", model="gone", **gone))

    told = next_turn("s")
    assert told is not None
    assert told.count("404") == 2
    assert "model gone:" in told
    assert "model gone too:" in told
    assert next_turn("s") is None
    recording.fire("api_request_error", **call(model="gone", **gone))
    assert next_turn("s") is None
    assert next_turn("nobody") is None
    assert next_turn("other") is not None
    alerts = {
        row["model"]: row["occurrences"] for row in recording.rows("model_unavailable_alerts")
    }
    assert alerts == {"gone": 4, "gone too": 1}


@pytest.mark.parametrize("parent", ["s", "where the user is now", "", None])
def test_a_subagents_stop_is_known_by_its_child(parent: str | None, recording: Recording) -> None:
    recording.fire("subagent_start", parent_session_id="s", child_session_id="c")
    recording.time.advance(2)
    recording.fire(
        "subagent_stop", parent_session_id=parent, child_session_id="c", child_status="completed"
    )
    edge = recording.row("subagent_edges")
    assert (edge["parent_session_id"], edge["child_status"]) == ("s", "completed")
    assert edge["stopped_at"] == "2026-07-01T12:00:02.000000+00:00"
    assert recording.row("tool_calls")["session_id"] == (parent or "(unknown)")


def test_a_stop_without_start_and_parent_is_a_tool_row_and_no_edge(recording: Recording) -> None:
    recording.fire("subagent_stop", child_session_id="c", child_status="error")
    assert recording.row("tool_calls")["ok"] == 0
    assert recording.rows("subagent_edges") == []
    assert recording.said == []


@pytest.mark.parametrize(
    ("session_id", "platform", "job"),
    [
        ("cron_nightly_20260701_020000", "cron", "nightly"),
        ("cron_a_b__c_20260701_020000", "cron", "a_b__c"),
        ("cron_20260630_20260701_020000", "cron", "20260630"),
        ("cron_nightly_20260701_020000", "cli", None),
        ("cron_nightly_20260701_020000_2", "cron", None),
        ("my_cron_nightly_20260701_020000", "cron", None),
        ("cron__20260701_020000", "cron", None),
    ],
)
def test_a_cron_session_names_its_job(
    session_id: str, platform: str, job: str | None, recording: Recording
) -> None:
    recording.fire("on_session_start", session_id=session_id, platform=platform)
    assert recording.row("runs")["cron_job_id"] == job


def test_cron_sessions_that_name_no_job_are_one_warning(recording: Recording) -> None:
    for number in range(3):
        for _ in range(2):
            recording.fire("on_session_start", session_id=f"job-{number}", platform="cron")
    assert len(recording.said) == 1
    assert recording.said[0].startswith("WARNING: the cron session 'job-0' names no job")


def test_of_sender_and_profile_the_first_that_is_one_stays(recording: Recording) -> None:
    for profile, sender in ((None, ""), ("", None), ("work", "ann"), ("home", "bob"), (None, "")):
        recording.profile = profile
        recording.fire("pre_llm_call", session_id="s", sender_id=sender)
    run = recording.row("runs")
    assert (run["profile"], run["sender_id"]) == ("work", "ann")


def test_a_profile_that_cannot_be_stored_or_had_costs_no_run(recording: Recording) -> None:
    for session_id, profile in (("a", "w\0rk\ud800"), ("b", ["work"]), ("c", "p" * 10_000)):
        recording.profile = profile
        recording.fire("on_session_start", session_id=session_id)
    assert [run["profile"] for run in recording.rows("runs")] == [
        "w\ufffdrk\ufffd",
        None,
        "p" * 512,
    ]
