"""The row of a subagent: its first start, its first stop, in whichever order they come."""

from typing import Any

import pytest

from support.recording import Recording

NOON, LATER = "2026-07-01T12:00:00.000000+00:00", "2026-07-01T12:00:05.000000+00:00"

START: dict[str, Any] = {
    "parent_session_id": "p",
    "parent_turn_id": "p:t:1",
    "parent_subagent_id": "sa-0",
    "child_session_id": "c",
    "child_subagent_id": "sa-1",
    "child_role": "leaf",
}
STOP: dict[str, Any] = {
    "parent_session_id": "p",
    "parent_turn_id": "p:t:1",
    "child_session_id": "c",
    "child_role": "leaf",
    "child_status": "completed",
}
WHOLE: dict[str, Any] = {
    "child_session_id": "c",
    "parent_session_id": "p",
    "parent_turn_id": "p:t:1",
    "parent_subagent_id": "sa-0",
    "child_subagent_id": "sa-1",
    "child_role": "leaf",
    "started_at": NOON,
    "stopped_at": LATER,
    "child_status": "completed",
}


def start(recording: Recording, **fields: Any) -> None:
    recording.fire("subagent_start", **START | fields)


def stop(recording: Recording, **fields: Any) -> None:
    recording.fire("subagent_stop", **STOP | fields)


@pytest.mark.parametrize(
    "named",
    [
        pytest.param({}, id="its parent"),
        pytest.param(
            {"parent_session_id": "p2", "parent_turn_id": "p2:t:9"},
            id="the session that its parent has gone on to",
        ),
        pytest.param({"parent_session_id": None, "parent_turn_id": None}, id="nobody"),
        pytest.param({"parent_session_id": "", "parent_turn_id": ""}, id="an empty text"),
    ],
)
def test_a_stop_closes_the_edge_of_its_child_whatever_parent_it_names(
    named: dict[str, Any], recording: Recording
) -> None:
    start(recording)
    recording.time.advance(5)
    stop(recording, **named)
    assert recording.row("subagent_edges") == WHOLE


def test_a_stop_without_a_start_and_without_a_parent_is_no_edge(recording: Recording) -> None:
    stop(recording, parent_session_id=None)
    assert recording.rows("subagent_edges") == []


def test_of_two_stops_the_first_counts(recording: Recording) -> None:
    start(recording)
    recording.time.advance(5)
    stop(recording)
    recording.time.advance(5)
    stop(recording, child_status="failed", parent_turn_id="p:t:2")
    assert recording.row("subagent_edges") == WHOLE


def test_of_two_starts_the_first_counts(recording: Recording) -> None:
    start(recording)
    recording.time.advance(1)
    start(recording, parent_session_id="p2", parent_turn_id="p2:t:9", child_role="orchestrator")
    recording.time.advance(4)
    stop(recording)
    assert recording.row("subagent_edges") == WHOLE


@pytest.mark.parametrize("named", ["p", "p2"])
def test_a_start_that_comes_after_its_stop_fills_the_row(named: str, recording: Recording) -> None:
    recording.time.advance(5)
    stop(recording, parent_session_id=named, parent_turn_id=None, child_role=None)
    recording.time.seconds = 0
    start(recording)
    assert recording.row("subagent_edges") == WHOLE


def test_a_stop_fills_what_the_start_left_open(recording: Recording) -> None:
    start(recording, parent_turn_id=None, parent_subagent_id=None, child_role=None)
    recording.time.advance(5)
    stop(recording, parent_subagent_id="sa-0")
    assert recording.row("subagent_edges") == WHOLE


def test_the_turn_of_another_session_did_not_start_the_child(recording: Recording) -> None:
    start(recording, parent_turn_id=None)
    recording.time.advance(5)
    stop(recording, parent_session_id="p2", parent_turn_id="p2:t:9")
    assert recording.row("subagent_edges") == WHOLE | {"parent_turn_id": None}


def test_an_empty_text_that_another_build_wrote_counts_as_nothing(recording: Recording) -> None:
    start(recording)
    for column in ("parent_turn_id", "parent_subagent_id", "child_role"):
        recording.change(f"update subagent_edges set {column} = ''")
    recording.time.advance(5)
    stop(recording, parent_subagent_id="sa-0")
    assert recording.row("subagent_edges") == WHOLE
