"""How interactive sessions end: the TUI's second end event, leaving, Ctrl-C."""

import sqlite3
from contextlib import suppress

import pytest

from support.host import Host, StartHost, nano
from support.provider import Text, Usage
from support.terminal import Terminal
from support.tui import TuiServer

pytestmark = pytest.mark.host

# 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 micro-dollars.
USAGE = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
PROMPT = "❯"


def chat(host: Host) -> Terminal:
    return Terminal(host.command("chat"), host.environment, host.folder)


def answered(host: Host, times: int) -> bool:
    """Whether the host has recorded that many calls by now."""
    with suppress(sqlite3.OperationalError):  # There is no ledger yet, or it is being made.
        return host.rows("select count(*) from llm_calls") == [(times,)]
    return False


def test_the_tuis_second_end_event_does_not_make_a_good_run_interrupted(
    start_host: StartHost,
) -> None:
    """At a clean close the TUI's server calls on_session_end again: interrupted, without a turn."""
    host = start_host()
    host.provider.answer("say hello", Text("hello", USAGE))
    with TuiServer(host) as tui:
        session = tui.ask("session.create", cols=80)
        tui.take_turn(session["session_id"], "say hello")
        assert tui.ask("session.close", session_id=session["session_id"]) == {"closed": True}

    run = host.one("select * from runs")
    assert run["session_id"] == session["stored_session_id"]
    assert (run["status"], run["platform"], run["api_calls"]) == ("ok", "tui", 1)
    assert run["cost_usd"] == nano(0.001410)


def test_leaving_after_a_good_turn_does_not_make_it_interrupted(start_host: StartHost) -> None:
    host = start_host()
    host.provider.answer("say hello", Text("hello", USAGE))
    host.provider.answer("say goodbye", Text("goodbye", USAGE))
    with chat(host) as terminal:
        terminal.wait_until(lambda: PROMPT in terminal.screen)
        terminal.enter("say hello")
        terminal.wait_until(lambda: answered(host, 1))
        terminal.wait_until(lambda: host.rows("select status from runs") == [("ok",)])
        terminal.enter("say goodbye")
        terminal.wait_until(lambda: answered(host, 2))
        terminal.enter("/exit")
        assert terminal.wait_for_exit() == 0, terminal.screen[-3000:]

    run = host.one("select * from runs")
    assert (run["status"], run["api_calls"]) == ("ok", 2)
    assert run["cost_usd"] == nano(2 * 0.001410)
    assert run["ended_at"] >= host.one("select max(ts) as last from llm_calls")["last"]
    assert host.rows("select count(distinct turn_id) from llm_calls") == [(2,)]


def test_a_turn_stopped_by_the_user_is_interrupted(start_host: StartHost) -> None:
    host = start_host()
    host.provider.answer("take your time", Text("too late", USAGE, delay=5))
    with chat(host) as terminal:
        terminal.wait_until(lambda: PROMPT in terminal.screen)
        terminal.enter("take your time")
        terminal.wait_until(lambda: host.provider.scripted)
        terminal.interrupt()
        terminal.wait_until(lambda: host.rows("select status from runs") != [("running",)])
        terminal.enter("/exit")
        terminal.wait_for_exit()

    run = host.one("select * from runs")
    assert (run["status"], run["api_calls"], run["cost_usd"]) == ("interrupted", 0, 0.0)
    assert run["ended_at"] > run["started_at"]
    assert host.rows("select count(*) from llm_calls") == [(0,)]
