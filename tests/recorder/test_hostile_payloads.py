"""Whatever a payload holds, the hook returns, and of its row everything that can be right is."""

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_telemetry.payloads import identifier
from support.hostile import VALUES, Platform
from support.recording import Recording, Row

PRICES = """
models:
  fake-model:
    input: 3
    output: 15
    cache_read: 0.30
    cache_write: 3.75
"""

MOST = 10**12
"""A trillion: no count is larger, so that no column's sum overflows within nine million rows."""

Field = tuple[str, ...]
"""The name of a field, or of a field and one inside it."""


@dataclass(frozen=True)
class Story:
    """A hook's payload, the row it makes, and where columns come from (default: their names)."""

    payload: dict[str, Any]
    table: str
    row: dict[str, Any]
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Names of fields; a field inside another is written with a dot.

    def fields(self) -> list[Field]:
        nested = [
            (name, inner)
            for name, value in self.payload.items()
            if isinstance(value, dict)
            for inner in value
        ]
        return [(name,) for name in self.payload] + nested

    def spoiled(self, column: str, fields: set[Field]) -> bool:
        """Whether a column is told by one of these fields, or by a field inside of one."""
        sources = [tuple(name.split(".")) for name in self.origins.get(column, (column,))]
        return any(source[: len(spoiled)] == spoiled for source in sources for spoiled in fields)


IDS = {"session_id": "s", "turn_id": "s:t:1", "task_id": "t", "api_request_id": "s:t:1:api:1"}
CALL = IDS | {
    "model": "fake-model",
    "provider": "custom",
    "base_url": "http://127.0.0.1:1/v1",
    "api_mode": "chat_completions",
    "api_call_count": 1,
    "api_duration": 0.25,
    "started_at": 1796049720.5,
    "telemetry_schema_version": "hermes.observer.v1",
}
EDGE = {
    "parent_session_id": "s",
    "parent_turn_id": "s:t:1",
    "parent_subagent_id": "sa-1",
    "child_session_id": "c",
    "child_role": "leaf",
}
COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
USAGE = tuple(f"usage.{name}" for name in (*COUNTS, "reasoning_tokens", "prompt_tokens"))

STORIES = {
    "on_session_start": Story(
        {"session_id": "s", "model": "fake-model", "platform": "cli"},
        "runs",
        {"session_id": "s", "model": "fake-model", "platform": "cli", "status": "running"},
    ),
    "pre_llm_call": Story(
        IDS
        | {"user_message": "hi", "conversation_history": [{}], "is_first_turn": True}
        | {"model": "fake-model", "platform": "cli", "sender_id": "ann"},
        "runs",
        {"session_id": "s", "model": "fake-model", "platform": "cli", "sender_id": "ann"},
    ),
    "post_api_request": Story(
        CALL
        | {"response_model": "fake-model-1", "finish_reason": "stop", "assistant_message": "x"}
        | {"assistant_content_chars": 40, "response": {"model": "x"}}
        | {
            "usage": {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_read_tokens": 1000,
                "cache_write_tokens": 4,
                "reasoning_tokens": 10,
                "prompt_tokens": 1104,
            }
        },
        "llm_calls",
        IDS
        | {"model": "fake-model", "provider": "custom", "latency_ms": 250, "estimated": 0}
        | {"tokens_in": 100, "tokens_out": 20, "reasoning_tokens": 10}
        | {"cache_read_tokens": 1000, "cache_write_tokens": 4, "moa_preset": None}
        # (100 * 3 + 20 * 15 + 1000 * 0.30 + 4 * 3.75) / 1,000,000
        | {"cost_usd": 0.000915},
        {
            "model": ("model", "provider"),
            "latency_ms": ("api_duration",),
            "moa_preset": ("provider",),
            "estimated": USAGE,
            "tokens_in": USAGE,
            "tokens_out": ("usage.output_tokens",),
            "reasoning_tokens": ("usage.reasoning_tokens",),
            "cache_read_tokens": ("usage.cache_read_tokens",),
            "cache_write_tokens": ("usage.cache_write_tokens",),
            "cost_usd": (*USAGE, "model", "provider"),
        },
    ),
    "api_request_error": Story(
        CALL
        | {"status_code": 404, "retry_count": 1, "max_retries": 3, "retryable": False}
        | {"reason": "model_not_found", "error": {"type": "NotFoundError", "message": "no"}}
        | {"request": {"method": "POST", "body": {"model": "fake-model"}}},
        "llm_call_errors",
        IDS
        | {"model": "fake-model", "provider": "custom", "status_code": 404, "retryable": 0}
        | {"retry_count": 1, "max_retries": 3, "reason": "model_not_found"}
        | {"error_type": "NotFoundError", "error_message": "no", "duration_ms": 250},
        {
            # With either of the two gone the other still tells it; a wrong one wins.
            "model": ("request.body", "model"),
            "error_type": ("error.type",),
            "error_message": ("error.message",),
            "duration_ms": ("api_duration",),
        },
    ),
    "post_tool_call": Story(
        IDS
        | {"tool_name": "terminal", "args": {"command": "x"}, "tool_call_id": "call_1"}
        | {"result": '{"output": "x"}', "duration_ms": 41, "status": "ok", "error_type": None},
        "tool_calls",
        {"session_id": "s", "turn_id": "s:t:1", "tool_call_id": "call_1", "tool_name": "terminal"}
        | {"ok": 1, "latency_ms": 41},
        {"ok": ("status", "result"), "latency_ms": ("duration_ms",)},
    ),
    "subagent_start": Story(
        EDGE | {"child_subagent_id": "sa-2", "child_goal": "x"},
        "subagent_edges",
        EDGE | {"child_subagent_id": "sa-2", "stopped_at": None},
    ),
    "subagent_stop": Story(
        EDGE | {"child_summary": "x", "child_status": "completed", "duration_ms": 240},
        "tool_calls",
        {"session_id": "s", "turn_id": "s:t:1", "tool_name": "delegate_task/subagent"}
        | {"ok": 1, "latency_ms": 240},
        {
            "session_id": ("parent_session_id",),
            "turn_id": ("parent_turn_id",),
            "ok": ("child_status",),
            "latency_ms": ("duration_ms",),
        },
    ),
    "post_llm_call": Story(
        IDS | {"user_message": "x", "assistant_response": "x", "model": "m", "platform": "cli"},
        "runs",
        {"session_id": "s", "status": "running"},
    ),
    "on_session_end": Story(
        IDS | {"completed": True, "interrupted": False, "model": "m", "platform": "cli"},
        "runs",
        {"session_id": "s", "status": "ok"},
        {"status": ("completed", "interrupted")},
    ),
}

KEEPING = {  # hooks about a session or an edge: without its ids there is nothing to keep
    "on_session_start": ("session_id",),
    "pre_llm_call": ("session_id",),
    "post_llm_call": ("session_id",),
    "on_session_end": ("session_id",),
    "subagent_start": ("parent_session_id", "child_session_id"),
}

WRITES_NOTHING = {
    "pre_api_request": CALL
    | {"approx_input_tokens": 1708, "max_tokens": 4096, "request": {"body": {"model": "m"}}},
    "pre_tool_call": IDS | {"tool_name": "terminal", "args": {"command": "x"}},
    "on_session_finalize": {"session_id": "nobody", "platform": "cli", "reason": "shutdown"},
    "on_session_reset": {"session_id": "s", "platform": "cli", "reason": "new_session"},
}

TABLES = (
    "runs",
    "llm_calls",
    "llm_call_prices",
    "tool_calls",
    "llm_call_errors",
    "subagent_edges",
    "model_unavailable_alerts",
)


@dataclass(frozen=True)
class Missing:
    """The field is not sent at all."""


@dataclass(frozen=True)
class Named:
    """One of the values that must not be printed, by its name."""

    name: str


ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)
BAD = st.one_of(
    st.just(Missing()),
    st.sampled_from(sorted(VALUES)).map(Named),
    ANY_TEXT,
    st.floats(),
    st.integers(),
    st.dictionaries(ANY_TEXT, st.none() | st.booleans(), max_size=3),
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """One recorder for all examples: they are many, and a process has one."""
    home = tmp_path_factory.mktemp("telemetry")
    (home / "pricing.yaml").write_text(PRICES, encoding="utf-8")
    recording = Recording(home)
    recording.fire("on_session_start", session_id="first")
    yield recording
    recording.close()


def with_bad_fields(payload: dict[str, Any], bad: Mapping[Field, Any]) -> dict[str, Any]:
    changed = deepcopy(payload)
    inner_first = sorted(bad.items(), key=lambda item: -len(item[0]))
    for (*outer, name), drawn in inner_first:
        fields = changed[outer[0]] if outer else changed
        if isinstance(drawn, Missing):
            del fields[name]
        else:
            fields[name] = VALUES[drawn.name]() if isinstance(drawn, Named) else drawn
    return changed


def is_kept(hook: str, payload: Mapping[str, Any]) -> bool:
    """Whether a hook has all ids without which there is nothing to keep."""
    return all(identifier(payload.get(name)) is not None for name in KEEPING.get(hook, ()))


def assert_storable(row: Row) -> None:
    for column, value in row.items():
        if isinstance(value, str):
            assert "\0" not in value, column
            assert len(value) <= 512, column
        elif isinstance(value, float):
            assert math.isfinite(value), column
            assert value >= 0, column
        elif value is not None:
            assert isinstance(value, int), column
            assert (-MOST if column == "status_code" else 0) <= value <= MOST, column


def assert_said_once(recording: Recording) -> None:
    assert not [line for line in recording.said if line.startswith("ERROR")]
    assert len(set(recording.said)) == len(recording.said)
    assert max(map(len, recording.said), default=0) < 3000


quickly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("hook", STORIES)
@quickly
@given(data=st.data())
def test_a_row_is_there_and_what_was_not_spoiled_is_right(
    hook: str, data: st.DataObject, recording: Recording
) -> None:
    story = STORIES[hook]
    fields = st.sampled_from(story.fields())
    bad = data.draw(st.dictionaries(fields, BAD, max_size=4), label="bad")
    recording.forget(*TABLES)

    payload = with_bad_fields(story.payload, bad)
    recording.fire(hook, **payload)

    rows = recording.rows(story.table)
    for table in TABLES:
        for row in recording.rows(table):
            assert_storable(row)
    if not is_kept(hook, payload):
        assert rows == []
        return
    (row,) = rows
    for column, value in story.row.items():
        if not story.spoiled(column, set(bad)):
            assert row[column] == pytest.approx(value, abs=1e-15), column
    if story.table in ("llm_calls", "llm_call_errors", "tool_calls"):
        (run,) = recording.rows("runs")
        assert run["session_id"] == row["session_id"]
    assert_said_once(recording)


@pytest.mark.parametrize("hook", STORIES)
def test_a_payload_of_nothing_but_one_bad_value_is_survived(
    hook: str, recording: Recording
) -> None:
    story = STORIES[hook]
    for name, build in VALUES.items():
        recording.forget(*TABLES)

        payload = {field: build() for field in story.payload}
        recording.fire(hook, **payload)

        rows = recording.rows(story.table)
        assert len(rows) == is_kept(hook, payload), name
        for row in rows:
            assert_storable(row)
    assert_said_once(recording)


@pytest.mark.parametrize("hook", WRITES_NOTHING)
@quickly
@given(data=st.data())
def test_a_hook_that_writes_nothing_spoils_nothing(
    hook: str, data: st.DataObject, recording: Recording
) -> None:
    payload = WRITES_NOTHING[hook]
    bad = data.draw(st.dictionaries(st.sampled_from([(name,) for name in payload]), BAD))
    recording.forget(*TABLES)
    answered = STORIES["post_api_request"]

    assert recording.fire(hook, **with_bad_fields(payload, bad)) is None
    recording.fire("post_api_request", **answered.payload)

    (call,) = [call for call in recording.rows("llm_calls") if not call["estimated"]]
    del call["latency_ms"]  # by the attempt's own clock where pre_api_request named the call
    assert call == call | {
        column: pytest.approx(value, abs=1e-15)
        for column, value in answered.row.items()
        if column != "latency_ms"
    }
    assert_said_once(recording)


def test_an_empty_payload_is_a_row_of_an_unknown_session(recording: Recording) -> None:
    recording.forget(*TABLES)

    for hook in recording.hooks:
        assert recording.fire(hook) is None

    assert recording.row("runs")["session_id"] == "(unknown)"
    assert recording.row("llm_calls")["model"] is None
    assert recording.row("llm_call_errors")["model"] == ""
    assert [tool["tool_name"] for tool in recording.rows("tool_calls")] == [
        "(unknown)",
        "delegate_task/subagent",
    ]


def test_fields_that_the_recorder_does_not_know_are_nothing_to_it(recording: Recording) -> None:
    recording.forget(*TABLES)
    strange = {name: build() for name, build in VALUES.items()}
    unknown = strange | {"self": 1, "payload": 2, "method": 3, "name": 4, "": 5, "ü\0\ud800": 6}

    for hook in STORIES:
        recording.fire(hook, **(unknown | STORIES[hook].payload))

    for hook, story in STORIES.items():
        if hook != "on_session_end":
            assert any(
                row.items() >= {k: v for k, v in story.row.items() if k not in CHANGES}.items()
                for row in recording.rows(story.table)
            ), hook


CHANGES = {"cost_usd", "status", "stopped_at"}
"""What later hooks of the same session change, and what is no round number."""


def test_a_member_of_an_enum_is_its_value(recording: Recording) -> None:
    recording.forget("runs")
    recording.fire("on_session_start", session_id="s", platform=Platform.CLI)
    assert recording.row("runs")["platform"] == "cli"
