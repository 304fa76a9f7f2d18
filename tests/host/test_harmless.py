"""A recorder that cannot record: the host's exit code and output are what they are without it."""

import re
from collections.abc import Callable

import pytest

from support.host import Host, StartHost, nano
from support.provider import Refusal, Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 micro-dollars.
USAGE = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
UNAUTHORIZED = Refusal(401, "Incorrect API key", "invalid_request_error", "invalid_api_key")


def a_folder_in_place_of_the_ledger(host: Host) -> None:
    host.ledger.mkdir()


def a_ledger_that_is_no_database(host: Host) -> None:
    host.ledger.write_text("This is not a database, and longer than the header of one.\n" * 100)


def a_file_in_place_of_the_telemetry_home(host: Host) -> None:
    (host.telemetry / "pricing.yaml").unlink()
    host.telemetry.rmdir()
    host.telemetry.write_text("not a folder")


FAULTS: list[Callable[[Host], None]] = [
    a_folder_in_place_of_the_ledger,
    a_ledger_that_is_no_database,
    a_file_in_place_of_the_telemetry_home,
]


@pytest.mark.parametrize("break_it", FAULTS, ids=lambda fault: fault.__name__)
def test_a_good_turn_ends_as_if_nothing_were_wrong(
    start_host: StartHost, break_it: Callable[[Host], None]
) -> None:
    host = start_host()
    break_it(host)
    greeting = ToolCall("call_a", "terminal", {"command": "echo hello"})
    host.provider.answer("greet me", ToolCalls((greeting,), USAGE), Text("hello", USAGE))

    finished = host.run("chat", "-Q", "-q", "greet me")

    assert (finished.returncode, finished.stdout.strip()) == (0, "hello")
    assert re.fullmatch(r"session_id: \w+", finished.stderr.strip())
    complaints = [line for line in host.log.splitlines() if "hermes_telemetry: the ledger" in line]
    assert len(complaints) == 1, "one line tells the user, however many records were refused"


def test_a_failing_turn_fails_as_it_does_without_the_recorder(start_host: StartHost) -> None:
    host = start_host()
    a_folder_in_place_of_the_ledger(host)
    host.provider.answer("let me in", UNAUTHORIZED)

    finished = host.run("chat", "-Q", "-q", "let me in")

    assert (finished.returncode, finished.stdout) == (1, "HTTP 401: Incorrect API key\n")
    assert "hermes_telemetry: the ledger" in host.log


def test_what_the_ledger_refused_is_recorded_by_the_next_host_that_can(
    start_host: StartHost,
) -> None:
    host = start_host()
    host.provider.answer("greet me", Text("hello", USAGE), Text("hello again", USAGE))
    a_folder_in_place_of_the_ledger(host)
    assert host.run("chat", "-Q", "-q", "greet me").returncode == 0
    host.ledger.rmdir()
    assert host.run("chat", "-Q", "-q", "greet me").returncode == 0

    sessions = host.own_count("select id from sessions order by started_at")
    assert len(sessions) == 2
    assert host.rows("select session_id from runs order by started_at") == sessions
    assert host.rows(
        "select session_id, tokens_in, tokens_out, cost_usd from llm_calls order by ts"
    ) == [(session, 200, 34, nano(0.001410)) for (session,) in sessions]
    assert host.rows("select status, api_calls from runs") == [("ok", 1), ("ok", 1)]


def test_a_malformed_price_file_costs_the_price_and_not_the_call(start_host: StartHost) -> None:
    host = start_host()
    (host.telemetry / "pricing.yaml").write_text("models:\n  fake-model: {input: 3\n")
    host.provider.answer("greet me", Text("hello", USAGE))

    finished = host.run("chat", "-Q", "-q", "greet me")

    assert (finished.returncode, finished.stdout.strip()) == (0, "hello")
    assert host.rows("select tokens_in, tokens_out, cost_usd from llm_calls") == [(200, 34, None)]
    assert f"{host.telemetry / 'pricing.yaml'}: line 3, column 1" in host.log
