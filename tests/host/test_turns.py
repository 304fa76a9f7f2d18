"""Turns that go well: what tool calls, parallel tools and silence about usage leave behind."""

import re
from datetime import datetime

import pytest

from support.host import Host, StartHost, milliseconds, nano
from support.provider import Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# Fresh input * 3 + cached * 0.30 + output (reasoning is in it) * 15, in micro-dollars:
# 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 and 100 * 3 + 1200 * 0.30 + 8 * 15 = 780.
ASKING = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
ANSWERING = Usage(prompt=1300, cached=1200, output=8, reasoning=0)
ASKING_USD, ANSWERING_USD = 0.001410, 0.000780
TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"


@pytest.fixture(scope="module")
def tool_turn(start_host: StartHost) -> Host:
    """The model asks for a command that takes 0.2 s, then answers; each reply takes 0.3 s."""
    host = start_host()
    greeting = ToolCall("call_a", "terminal", {"command": "sleep 0.2; echo hello"})
    host.provider.answer(
        "please say hi",
        ToolCalls((greeting,), ASKING, delay=0.3),
        Text("hello", ANSWERING, delay=0.3),
    )
    finished = host.run("chat", "-Q", "-q", "please say hi")
    assert (finished.returncode, finished.stdout.split()) == (0, ["hello"])
    return host


def test_a_tool_turn_leaves_one_run(tool_turn: Host) -> None:
    run = tool_turn.one("select * from runs")

    started, ended = run.pop("started_at"), run.pop("ended_at")
    assert run.pop("duration_ms") == pytest.approx(milliseconds(started, ended), abs=2)
    assert run.pop("cost_usd") == nano(ASKING_USD + ANSWERING_USD)
    ((session,),) = tool_turn.own_count("select id from sessions")
    assert run == {
        "session_id": session,
        "platform": "cli",
        "cron_job_id": None,
        "model": "fake-model",
        "provider": "custom",
        "status": "ok",
        "tokens_in": 300,
        "tokens_out": 42,
        "cache_read_tokens": 2200,
        "cache_write_tokens": 0,
        "api_calls": 2,
        "tool_calls": 1,
        "parent_session_id": None,
        "estimated_llm_calls": 0,
        "sender_id": None,
        "provider_assumed_calls": 0,
        "moa_calls": 0,
        "profile": "default",
    }


def test_the_run_agrees_with_the_hosts_own_count(tool_turn: Host) -> None:
    (own,) = tool_turn.own_count(
        "select input_tokens, output_tokens, cache_read_tokens, api_call_count, tool_call_count"
        " from sessions"
    )
    assert tool_turn.rows(
        "select tokens_in, tokens_out, cache_read_tokens, api_calls, tool_calls from runs"
    ) == [own]


def test_each_call_has_its_own_tokens_and_cost(tool_turn: Host) -> None:
    assert tool_turn.rows(
        "select model, provider, tokens_in, cache_read_tokens, cache_write_tokens, tokens_out,"
        " reasoning_tokens, estimated, provider_assumed, moa_preset, cost_usd"
        " from llm_calls order by id"
    ) == [
        ("fake-model", "custom", 200, 1000, 0, 34, 10, 0, 0, None, nano(ASKING_USD)),
        ("fake-model", "custom", 100, 1200, 0, 8, 0, 0, 0, None, nano(ANSWERING_USD)),
    ]


def test_every_cost_names_the_rates_that_made_it(tool_turn: Host) -> None:
    priced = tool_turn.rows(
        "select call_id, basis, matched_id, input, output, cache_read, tier_from, filled_at"
        " from llm_call_prices join prices_used on prices_used.id = price_id order by call_id"
    )
    listed = ("listed", "fake-model", 3, 15, 0.3, None, None)
    assert priced == [(1, *listed), (2, *listed)]


def test_calls_and_tools_share_the_hosts_turn(tool_turn: Host) -> None:
    run = tool_turn.one("select session_id from runs")
    calls = tool_turn.rows("select turn_id, task_id, api_request_id from llm_calls order by id")

    turn, task, _ = calls[0]
    assert re.fullmatch(rf"{run['session_id']}:{re.escape(task)}:[0-9a-f]{{8}}", turn)
    assert calls == [(turn, task, f"{turn}:api:1"), (turn, task, f"{turn}:api:2")]
    assert tool_turn.rows("select turn_id, tool_call_id from tool_calls") == [(turn, "call_a")]


def test_a_calls_latency_is_the_time_the_provider_took(tool_turn: Host) -> None:
    calls = tool_turn.rows("select ts, latency_ms from llm_calls order by id")
    start = tool_turn.one("select started_at from runs")["started_at"]

    for (ts, latency), before, request in zip(
        calls, [start, calls[0][0]], tool_turn.provider.scripted, strict=True
    ):
        assert request.seconds >= 0.3
        assert request.seconds * 1000 - 1 <= latency <= milliseconds(before, ts) + 1


def test_a_calls_timestamp_is_the_end_of_its_answer_in_utc(tool_turn: Host) -> None:
    calls = tool_turn.rows("select ts from llm_calls order by id")
    asked, answered = tool_turn.provider.scripted

    assert all(re.fullmatch(TIMESTAMP, ts) for (ts,) in calls)
    first, second = (datetime.fromisoformat(ts).timestamp() for (ts,) in calls)
    assert asked.ended <= first <= answered.started
    assert answered.ended <= second <= answered.ended + 5


def test_the_tool_call_is_kept_with_its_duration(tool_turn: Host) -> None:
    tool = tool_turn.one("select * from tool_calls")
    assert (tool["tool_name"], tool["ok"]) == ("terminal", 1)
    assert re.fullmatch(TIMESTAMP, tool["ts"])
    first, second = tool_turn.rows("select ts from llm_calls order by id")
    assert 200 <= tool["latency_ms"] <= milliseconds(first[0], second[0])


def test_parallel_tools_are_each_kept_once(start_host: StartHost) -> None:
    host = start_host()
    readings = tuple(
        ToolCall(f"call_{name}", "read_file", {"path": str(host.folder / f"{name}.txt")})
        for name in ("one", "two", "three")
    )
    for name in ("one", "two"):
        (host.folder / f"{name}.txt").write_text(f"this is {name}\n")
    host.provider.answer("read them", ToolCalls(readings, ASKING), Text("read", ANSWERING))
    assert host.run("chat", "-Q", "-q", "read them").returncode == 0

    run = host.one("select session_id, status, api_calls, tool_calls from runs")
    assert (run["status"], run["api_calls"], run["tool_calls"]) == ("ok", 2, 3)
    turns = host.rows("select distinct session_id, turn_id from llm_calls")
    assert [session for session, _ in turns] == [run["session_id"]]
    # The third file does not exist.
    assert host.rows(
        "select tool_call_id, tool_name, ok from tool_calls order by tool_call_id"
    ) == [
        ("call_one", "read_file", 1),
        ("call_three", "read_file", 0),
        ("call_two", "read_file", 1),
    ]
    assert host.rows("select distinct session_id, turn_id from tool_calls") == turns


def test_missing_usage_is_estimated_and_says_so(start_host: StartHost) -> None:
    """The first reply names its usage, the second does not; the host guesses how long it was."""
    host = start_host()
    greeting = ToolCall("call_a", "terminal", {"command": "echo hello"})
    host.provider.answer(
        "be brief", ToolCalls((greeting,), ASKING), Text("thirteen char", usage=None)
    )
    assert host.run("chat", "-Q", "-q", "be brief").returncode == 0

    known, guessed = host.rows(
        "select estimated, tokens_in, cache_read_tokens, tokens_out, cost_usd"
        " from llm_calls order by id"
    )
    assert known == (0, 200, 1000, 34, nano(ASKING_USD))
    estimated, fresh, cached, output, usd = guessed
    # 13 characters / 4, rounded up.
    assert (estimated, output) == (1, 4)
    # The host takes four characters of a message for a token; the split is that of the first call.
    (_, request) = host.provider.scripted
    guess = sum(len(str(message)) for message in request.body["messages"]) / 4
    assert fresh + cached == pytest.approx(guess, rel=0.03)
    assert fresh == pytest.approx((fresh + cached) * 200 / 1200, abs=1)
    assert usd == nano((fresh * 3 + cached * 0.3 + 4 * 15) / 1e6)
    assert host.rows("select status, api_calls, estimated_llm_calls, cost_usd from runs") == [
        ("ok", 2, 1, nano(ASKING_USD + usd))
    ]


def test_an_answer_cut_at_its_length_is_estimated_as_the_host_never_reports_it(
    start_host: StartHost,
) -> None:
    host = start_host()
    host.provider.answer(
        "a long story",
        Text("once upon", ASKING, finish_reason="length"),
        Text(" a time", ANSWERING),
    )
    finished = host.run("chat", "-Q", "-q", "a long story")
    assert (finished.returncode, finished.stdout.strip()) == (0, "once upon a time")

    cut, served = host.rows(
        "select api_request_id, estimated, tokens_in, cache_read_tokens, tokens_out, cost_usd"
        " from llm_calls order by id"
    )
    (turn,) = host.one("select distinct turn_id from llm_calls").values()
    # Nothing is known of what was cut but the length of its prompt, at four characters a token.
    (request, _) = host.provider.scripted
    guess = sum(len(str(message)) for message in request.body["messages"]) / 4
    assert cut[:2] == (f"{turn}:api:1", 1)
    assert cut[2] == pytest.approx(guess, rel=0.03)
    assert cut[3:] == (0, 0, nano(cut[2] * 3 / 1e6))
    assert served == (f"{turn}:api:2", 0, 100, 1200, 8, nano(ANSWERING_USD))
    assert host.rows("select status, api_calls, estimated_llm_calls from runs") == [("ok", 2, 1)]


def test_a_one_shot_prompt_in_a_profile_is_on_disk_when_the_host_is_gone(
    start_host: StartHost,
) -> None:
    """`hermes -z` ends by os._exit, which would lose whatever waits for a thread or for atexit."""
    host = start_host(profile="work")
    host.set_prices({})
    host.provider.answer("say it once", Text("once", ASKING))
    finished = host.run("-z", "say it once")
    assert (finished.returncode, finished.stdout.strip()) == (0, "once")

    run = host.one("select * from runs")
    assert (run["status"], run["profile"], run["platform"]) == ("ok", "work", "cli")
    assert run["ended_at"] is not None
    # Nobody priced the model: its tokens count, its cost is unknown, and the total does not move.
    assert (run["tokens_in"], run["tokens_out"], run["cost_usd"]) == (200, 34, 0.0)
    assert host.rows("select tokens_in, tokens_out, cost_usd from llm_calls") == [(200, 34, None)]
    assert host.rows("select count(*) from llm_call_prices") == [(0,)]
