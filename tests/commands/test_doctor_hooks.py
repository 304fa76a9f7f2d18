"""`hermes-telemetry doctor` on the host's hooks: which of them should have been seen by now."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from hermes_telemetry.paths import database_path
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import health, sightings
from support.doctor import faults_of, record_turn
from support.replay import hook_calls
from support.stopped_clock import StoppedClock


@pytest.fixture(autouse=True)
def _no_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")


def hooks_without(name: str) -> dict[str, Callable[..., Any]]:
    hooks = Recorder().hooks()
    del hooks[name]
    return hooks


@pytest.mark.parametrize("hook", sightings.PROVEN_BY)
def test_a_hook_that_the_host_never_fires(cli, hook: str) -> None:
    for _ in range(2):  # a second process
        record_turn(hooks_without(hook))
    assert faults_of(cli("doctor"))["hooks"] == (
        f"the host was never seen to fire {hook}, though it fires {sightings.PROVEN_BY[hook]}:"
        " upgrade hermes-telemetry: this Hermes names its hooks differently"
    )


def test_a_turn_under_way_is_given_an_hour() -> None:
    clock = StoppedClock()
    hooks = Recorder(clock=clock.clock).hooks()
    for call in hook_calls("01_chat_q_tool_turn")[:6]:  # up to the tool's result
        hooks[call.hook](**call.kwargs)
    clock.advance(3599)
    assert faults_at(clock) == []
    clock.advance(2)
    (missing,) = faults_at(clock)
    assert missing.startswith("the host was never seen to fire post_llm_call")


def faults_at(clock: StoppedClock) -> list[str]:
    findings = health.examine(database_path(), clock.clock)
    return [finding.text for finding in findings if finding.state == "fault"]


@pytest.mark.parametrize(
    "scenario",
    ["09_error_401", "27_interactive_ctrl_c", "41_v0130_error_404", "44_v0150_delegation"],
)
def test_hooks_that_had_no_occasion_or_that_an_old_host_lacks_are_no_fault(
    cli, scenario: str
) -> None:
    for _ in range(2):
        record_turn(Recorder().hooks(), scenario)
    assert faults_of(cli("doctor")) == {}


def test_every_hook_of_the_recorder_is_looked_for() -> None:
    looked_for = {*sightings.PROVEN_BY, *sightings.OCCASIONAL}
    assert looked_for == Recorder().hooks().keys()


def seen_last(when: str) -> None:
    """Move all that was noted so far to another time."""
    with closing(sqlite3.connect(database_path())) as connection, connection:
        connection.execute(
            "update endpoint_payload_cache set built_at = ? where cache_name = 'hooks'", (when,)
        )


@pytest.mark.parametrize(
    "hook", ["pre_llm_call", "pre_api_request", "post_api_request", "pre_tool_call"]
)
def test_a_hook_that_the_host_fires_no_longer(cli, hook: str) -> None:
    record_turn(Recorder().hooks())
    assert faults_of(cli("doctor")) == {}
    seen_last("2025-07-01T12:00:00.000000+00:00")
    for _ in range(5):
        record_turn(hooks_without(hook))
    fault = faults_of(cli("doctor"))["hooks"]
    assert fault.startswith(f"the host no longer fires {hook}: last seen 2025-07-01, though ")
    record_turn(Recorder().hooks())
    assert faults_of(cli("doctor")) == {}


@pytest.mark.parametrize("hook", ["post_llm_call", "on_session_end", "post_tool_call"])
def test_a_hook_at_the_end_of_what_proves_it_is_given_an_hour_to_come_again(hook: str) -> None:
    clock = StoppedClock()
    record_turn(Recorder(clock=clock.clock).hooks())
    clock.advance(2 * 86400)
    hooks = Recorder(clock=clock.clock).hooks()
    del hooks[hook]
    record_turn(hooks)
    clock.advance(3599)
    assert faults_at(clock) == []
    clock.advance(2)
    (fault,) = faults_at(clock)
    assert fault == (
        f"the host no longer fires {hook}: last seen 2026-07-01, though"
        f" {sightings.PROVEN_BY[hook]} was on 2026-07-03"
    )


def test_a_process_may_see_a_hook_and_its_proof_a_day_apart() -> None:
    clock = StoppedClock()
    record_turn(Recorder(clock=clock.clock).hooks())
    clock.advance(86_300)  # it is still the same process: the hooks at the beginning are noted
    later = Recorder(clock=clock.clock).hooks()
    record_turn({hook: later[hook] for hook in ("post_api_request", "post_llm_call")})
    assert faults_at(clock) == []
    clock.advance(200)
    later = Recorder(clock=clock.clock).hooks()
    record_turn({hook: later[hook] for hook in ("post_api_request", "post_llm_call")})
    (fault,) = faults_at(clock)
    assert fault.startswith("the host no longer fires pre_api_request: ")
