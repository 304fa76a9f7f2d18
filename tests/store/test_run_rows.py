"""What a run says of its session: who served it, when it began, what it cost."""

import pytest

from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.writes import Write
from support.recording import Recording

FIRST = {"model": "first", "provider": "one"}
SECOND = {"model": "second", "provider": "two"}


def served_by(recording: Recording) -> tuple[str | None, str | None]:
    run = recording.row("runs")
    return run["model"], run["provider"]


def test_a_run_names_the_model_and_the_provider_of_its_first_call(recording: Recording) -> None:
    recording.fire("on_session_start", session_id="s", model="first")
    recording.fire("api_request_error", session_id="s", retryable=True, **FIRST)
    assert served_by(recording) == ("first", None)
    # The fallback answers: ("first", "two") would be a pair that never was.
    recording.fire("post_api_request", session_id="s", **SECOND)
    assert served_by(recording) == ("second", "two")


def test_later_calls_and_turns_do_not_rename_a_run(recording: Recording) -> None:
    recording.fire("post_api_request", session_id="s", **FIRST)
    recording.fire("post_api_request", session_id="s", **SECOND)
    recording.fire("pre_llm_call", session_id="s", model="third")
    assert served_by(recording) == ("first", "one")


@pytest.mark.parametrize(
    ("call", "served"),
    [
        ({"model": "second"}, ("second", None)),
        ({"provider": "two"}, ("first", "two")),
        ({}, ("first", None)),
    ],
)
def test_what_the_first_call_leaves_out_is_not_taken_from_the_next(
    call: dict[str, str], served: tuple[str | None, str | None], recording: Recording
) -> None:
    recording.fire("on_session_start", session_id="s", model="first")
    recording.fire("post_api_request", session_id="s", **call)
    recording.fire("post_api_request", session_id="s", model="later", provider="later")
    assert served_by(recording) == served


def test_a_session_in_which_no_call_was_answered_keeps_the_model_it_began_with(
    recording: Recording,
) -> None:
    recording.fire("on_session_start", session_id="s", model="first")
    recording.fire("api_request_error", session_id="s", retryable=False, **SECOND)
    assert served_by(recording) == ("first", None)


def test_a_run_began_with_the_earliest_of_its_starts(recording: Recording) -> None:
    # The start waited in the spill file while a call of its session came through.
    recording.fire("post_api_request", session_id="s", **FIRST)
    begun = recording.row("runs")["started_at"]
    ledger = Ledger(recording.path)
    for earlier in ("2026-07-01T11:59:00.000000+00:00", "2026-07-01T12:30:00.000000+00:00"):
        ledger.apply([Write("start_run", {"session_id": "s", "ts": earlier})])
    ledger.close()
    assert begun == "2026-07-01T12:00:00.000000+00:00"
    assert recording.row("runs")["started_at"] == "2026-07-01T11:59:00.000000+00:00"


def test_a_call_reopens_a_run_in_error_and_leaves_the_end_of_any_other(
    recording: Recording,
) -> None:
    ledger = Ledger(recording.path)
    ends = []
    for status in ("ok", "interrupted", "running", "error"):
        recording.fire("on_session_start", session_id="s")
        recording.change(f"update runs set ended_at = 'then', duration_ms = 5, status = '{status}'")
        ledger.apply([answered_call(0.5)])
        run = recording.row("runs")
        ends.append((run["status"], run["ended_at"], run["duration_ms"]))
    ledger.close()
    ended = ("then", 5)
    assert ends == [("ok", *ended), ("interrupted", *ended), ("running", *ended)] + [
        ("running", None, None)
    ]


def test_the_total_of_a_run_that_had_none_begins_with_the_next_call(recording: Recording) -> None:
    recording.fire("on_session_start", session_id="s")
    recording.change("update runs set cost_usd = null, tokens_in = null")

    ledger = Ledger(recording.path)
    for cost in (0.5, None, 0.25):
        ledger.apply([answered_call(cost)])
    ledger.close()

    run = recording.row("runs")
    assert (run["cost_usd"], run["tokens_in"], run["api_calls"]) == (0.75, 30, 3)


def answered_call(cost_usd: float | None) -> Write:
    return Write(
        "record_llm_call",
        {
            "session_id": "s",
            "ts": "2026-07-01T12:00:00.000000+00:00",
            "model": "m",
            "provider": "p",
            "tokens_in": 10,
            "tokens_out": 1,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "reasoning_tokens": 0,
            "cost_usd": cost_usd,
            "latency_ms": 5,
        },
    )
