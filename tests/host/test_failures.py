"""Turns that go wrong: refused, refused for good, refused and then served."""

import pytest

from support.host import Host, StartHost, milliseconds, nano
from support.provider import Refusal, Text, Usage
from support.tui import TuiServer

pytestmark = pytest.mark.host

NOT_FOUND = Refusal(
    404,
    "The model `fake-model` does not exist",
    "invalid_request_error",
    "model_not_found",
    delay=0.2,
)
UNAUTHORIZED = Refusal(401, "Incorrect API key", "invalid_request_error", "invalid_api_key")
RATE_LIMITED = Refusal(
    429, "Rate limit reached", "rate_limit_error", "rate_limit_exceeded", retry_after=1, delay=0.2
)
# 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 micro-dollars.
USAGE = Usage(prompt=1200, cached=1000, output=34, reasoning=10)

FAILURE = (
    "select model, provider, status_code, error_type, reason, retryable, retry_count, max_retries"
    " from llm_call_errors"
)


@pytest.fixture(scope="module")
def missing_model(start_host: StartHost) -> Host:
    """One turn that the provider answers by 404: `hermes` says so and exits with 1."""
    host = start_host()
    host.provider.answer("anyone there", NOT_FOUND)
    finished = host.run("chat", "-Q", "-q", "anyone there")
    assert (finished.returncode, "HTTP 404" in finished.stdout) == (1, True)
    return host


def test_a_404_is_kept_as_a_failed_attempt(missing_model: Host) -> None:
    assert missing_model.rows(FAILURE) == [
        ("fake-model", "custom", 404, "NotFoundError", "model_not_found", 0, 0, 1)
    ]
    failure = missing_model.one("select * from llm_call_errors")
    assert "The model `fake-model` does not exist" in failure["error_message"]
    assert failure["api_request_id"] == f"{failure['turn_id']}:api:1"
    session, task, _ = failure["turn_id"].rsplit(":", 2)
    assert (failure["session_id"], failure["task_id"]) == (session, task)


def test_a_failed_attempt_lasted_as_long_as_the_provider_took(missing_model: Host) -> None:
    failure = missing_model.one("select * from llm_call_errors")
    (request,) = missing_model.provider.scripted
    start = missing_model.one("select started_at from runs")["started_at"]

    assert request.seconds >= 0.2
    assert request.seconds * 1000 - 1 <= failure["duration_ms"]
    assert failure["duration_ms"] <= milliseconds(start, failure["ts"]) + 1


def test_a_404_closes_the_run_as_an_error_though_the_host_ends_no_turn(missing_model: Host) -> None:
    run = missing_model.one("select * from runs")
    failure = missing_model.one("select ts from llm_call_errors")
    assert (run["status"], run["api_calls"], run["cost_usd"]) == ("error", 0, 0.0)
    assert run["model"] == "fake-model"
    assert run["started_at"] < failure["ts"]
    assert 0 <= milliseconds(failure["ts"], run["ended_at"]) < 5000
    assert missing_model.rows("select count(*) from llm_calls") == [(0,)]


def test_a_404_raises_one_alert_for_the_model(missing_model: Host) -> None:
    alert = missing_model.one("select * from model_unavailable_alerts")
    assert (alert["model"], alert["provider"], alert["error_code"]) == ("fake-model", "custom", 404)
    assert (alert["occurrences"], alert["first_seen_at"]) == (1, alert["last_seen_at"])
    assert "does not exist" in alert["error_message"]


def test_the_session_hears_of_a_missing_model_once(start_host: StartHost) -> None:
    """Not at the very next turn: there the host joins the unanswered message and the new one, and
    drops what plugins had to say.
    """
    host = start_host()
    served = [Text("yes", USAGE), Text("still", USAGE), Text("always", USAGE)]
    host.provider.answer("anyone there", NOT_FOUND, *served)
    with TuiServer(host) as tui:
        session = tui.ask("session.create", cols=80)["session_id"]
        for _ in range(4):
            tui.take_turn(session, "anyone there")

    asked = [request.user_texts[-1] for request in host.provider.scripted]
    assert ["answered 404 for the model fake-model" in text for text in asked] == [
        False,
        False,
        True,
        False,
    ]
    assert host.rows("select status, api_calls from runs") == [("ok", 3)]


def test_a_rejected_key_is_a_failure_but_no_missing_model(start_host: StartHost) -> None:
    host = start_host()
    host.provider.answer("let me in", UNAUTHORIZED)
    finished = host.run("chat", "-Q", "-q", "let me in")
    assert (finished.returncode, "HTTP 401" in finished.stdout) == (1, True)

    assert host.rows(FAILURE) == [
        ("fake-model", "custom", 401, "AuthenticationError", "auth", 0, 0, 1)
    ]
    assert host.rows("select status, api_calls from runs") == [("error", 0)]
    assert host.rows("select count(*) from model_unavailable_alerts") == [(0,)]


@pytest.fixture(scope="module")
def rate_limited(start_host: StartHost) -> Host:
    """One turn whose first attempt is refused for a second; the next one is served."""
    host = start_host()
    host.configure(agent={"api_max_retries": 3})
    host.provider.answer("one more", RATE_LIMITED, Text("served", USAGE, delay=0.2))
    finished = host.run("chat", "-Q", "-q", "one more")
    assert (finished.returncode, finished.stdout.strip()) == (0, "served")
    return host


def test_a_429_that_recovers_leaves_a_failure_a_call_and_a_good_run(rate_limited: Host) -> None:
    assert rate_limited.rows(FAILURE) == [
        ("fake-model", "custom", 429, "RateLimitError", "rate_limit", 1, 0, 3)
    ]
    usd = nano(0.001410)
    assert rate_limited.rows("select tokens_in, tokens_out, cost_usd from llm_calls") == [
        (200, 34, usd)
    ]
    assert rate_limited.rows("select status, api_calls, cost_usd from runs") == [("ok", 1, usd)]
    assert rate_limited.rows("select count(*) from model_unavailable_alerts") == [(0,)]


def test_the_failure_and_the_call_are_attempts_of_one_request(rate_limited: Host) -> None:
    ids = "turn_id, task_id, api_request_id"
    (call,) = rate_limited.rows(f"select {ids} from llm_calls")
    assert rate_limited.rows(f"select {ids} from llm_call_errors") == [call]
    assert call[2] == f"{call[0]}:api:1"


def test_the_wait_before_a_retry_belongs_to_neither_attempt(rate_limited: Host) -> None:
    failure = rate_limited.one("select ts, duration_ms from llm_call_errors")
    call = rate_limited.one("select ts, latency_ms from llm_calls")
    refused, served = rate_limited.provider.scripted

    assert served.started - refused.ended >= 1
    assert refused.seconds * 1000 - 1 <= failure["duration_ms"]
    assert served.seconds * 1000 - 1 <= call["latency_ms"]
    assert call["latency_ms"] <= milliseconds(failure["ts"], call["ts"]) - 990


def test_a_resumed_session_is_reopened_by_its_next_success(start_host: StartHost) -> None:
    host = start_host()
    host.provider.answer("first try", UNAUTHORIZED)
    assert host.run("chat", "-Q", "-q", "first try").returncode == 1
    failed = host.one("select * from runs")
    assert failed["status"] == "error"

    host.provider.answer("second try", Text("better", USAGE))
    finished = host.run("chat", "-Q", "--resume", failed["session_id"], "-q", "second try")
    assert finished.returncode == 0

    run = host.one("select * from runs")
    assert (run["session_id"], run["status"], run["api_calls"]) == (failed["session_id"], "ok", 1)
    assert run["started_at"] == failed["started_at"]
    assert run["ended_at"] > failed["ended_at"]
    (first,) = host.rows("select turn_id from llm_call_errors")
    (second,) = host.rows("select turn_id from llm_calls")
    assert first != second
