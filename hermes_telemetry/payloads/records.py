"""One frozen record per hook, read from its keyword arguments.

Each ``read`` is total: it returns a record for any payload. Ids are None when empty; texts of the
failure ledger are ''. Both the nested payloads of hosts from 0.16 on and the flat names of older
ones are read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from .redaction import WINDOW, redact
from .values import (
    NAME_LIMIT,
    count,
    each,
    each_counted,
    each_named,
    flag,
    get,
    integer,
    is_true,
    milliseconds,
    named,
    number,
    text,
)

Payload = Mapping[str, Any]
_Count = int | float | str | None

_CALL_IDS = (
    "session_id",
    "turn_id",
    "task_id",
    "api_request_id",
    "model",
    "provider",
    "api_mode",
)
_CALL_COUNTS = ("api_call_count", "approx_input_tokens", "max_tokens")

_RESULT_LIMIT = 256 * 1024
"""Characters of a tool's result that are looked at inside a hook; an error is shorter."""

_USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "prompt_tokens",
)

_DONE = ("ok", "success", "completed")
"""What hosts call a tool or a subagent that did its work."""

UNKNOWN_SESSION = "(unknown)"
"""The session of calls, failures and tool calls that come without one."""


def session_of(payload: Payload, key: str = "session_id") -> str | None:
    """The session that a hook is about, or None."""
    return named(payload, key)


def tells_turn_ids(payload: Payload) -> bool:
    """Whether the host is new enough (0.16) to send turn ids: it then stamps every payload."""
    return named(payload, "telemetry_schema_version") is not None


@dataclass(frozen=True, slots=True)
class SessionStart:
    """on_session_start."""

    session_id: str | None
    platform: str | None
    model: str | None

    @classmethod
    def read(cls, payload: Payload) -> SessionStart:
        return cls(
            session_id=session_of(payload),
            platform=named(payload, "platform"),
            model=named(payload, "model"),
        )


@dataclass(frozen=True, slots=True)
class TurnStart:
    """pre_llm_call.

    ``is_heard`` is False when the turn before was never answered: the host then joins the two user
    messages and drops what a plugin adds.
    """

    session_id: str | None
    platform: str | None
    model: str | None
    sender_id: str | None
    is_heard: bool

    @classmethod
    def read(cls, payload: Payload) -> TurnStart:
        return cls(
            session_id=session_of(payload),
            platform=named(payload, "platform"),
            model=named(payload, "model"),
            sender_id=named(payload, "sender_id"),
            is_heard=_last_roles(get(payload, "conversation_history")) != ["user", "user"],
        )


class Attempt(NamedTuple):
    """Who is calling whom: what pre_api_request, post_api_request and api_request_error share.

    A tuple, as it is made at every call and a frozen dataclass takes thrice the time. ``number``
    counts a turn's calls from 1; a retry has the number of the attempt before it.
    """

    session_id: str
    turn_id: str | None
    task_id: str | None
    api_request_id: str | None
    number: int | None
    model: str | None
    provider: str | None
    base_url: str | None
    api_mode: str | None
    approx_input_tokens: int
    max_tokens: int | None

    @classmethod
    def read(cls, payload: Payload) -> Attempt:
        session_id, turn_id, task_id, request_id, model, provider, api_mode = each_named(
            payload, _CALL_IDS
        )
        number, approx_input_tokens, max_tokens = each_counted(payload, _CALL_COUNTS)
        return cls(
            session_id or UNKNOWN_SESSION,
            turn_id,
            task_id,
            request_id,
            number,
            model,
            provider,
            _address(get(payload, "base_url")),
            api_mode,
            approx_input_tokens or 0,
            max_tokens,
        )

    @property
    def turn_key(self) -> tuple[str, str | None]:
        """What the attempts of one turn share: the turn id, on older hosts session and task."""
        return (self.turn_id, None) if self.turn_id else (self.session_id, self.task_id)


class AnsweredCall(NamedTuple):
    """post_api_request. ``usage`` holds what the host says of its token counts, None where it says
    nothing; all of it is still to be judged, as is ``duration_ms``.
    """

    attempt: Attempt
    response_model: str | None
    usage: dict[str, _Count]
    content_chars: int
    duration_ms: int | None

    @classmethod
    def read(cls, payload: Payload) -> AnsweredCall:
        usage = each(get(payload, "usage"), _USAGE_FIELDS)  # of a live mapping, read once
        return cls(
            attempt=Attempt.read(payload),
            response_model=named(payload, "response_model"),
            usage={
                name: value if value is None or type(value) is int else _plain(value)
                for name, value in zip(_USAGE_FIELDS, usage, strict=True)
            },
            content_chars=count(get(payload, "assistant_content_chars")) or 0,
            duration_ms=milliseconds(get(payload, "api_duration")),
        )


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """api_request_error. ``retryable`` None = the host did not say."""

    attempt: Attempt
    model: str
    status_code: int | None
    error_type: str
    error_message: str
    reason: str
    retryable: bool | None
    retry_count: int | None
    max_retries: int | None
    duration_ms: int | None

    @classmethod
    def read(cls, payload: Payload) -> FailedAttempt:
        error = get(payload, "error")
        body = get(get(payload, "request"), "body")
        attempt = Attempt.read(payload)
        return cls(
            attempt=attempt,
            model=text(get(body, "model"))
            or attempt.model
            or text(get(get(payload, "api_kwargs"), "model")),
            status_code=integer(get(payload, "status_code")),
            error_type=_secretless(get(error, "type"), get(payload, "error_type")),
            error_message=_secretless(get(error, "message"), get(payload, "error_message")),
            reason=_secretless(get(payload, "reason")),
            retryable=flag(get(payload, "retryable")),
            retry_count=count(get(payload, "retry_count")),
            max_retries=count(get(payload, "max_retries")),
            duration_ms=milliseconds(get(payload, "api_duration")),
        )

    @property
    def is_final(self) -> bool:
        """No attempt follows: not retryable, or the last of the allowed tries."""
        if self.retryable is False:
            return True
        if self.retry_count is None or self.max_retries is None:
            return False
        return self.retry_count + 1 >= self.max_retries


@dataclass(frozen=True, slots=True)
class ToolCall:
    """post_tool_call."""

    session_id: str
    turn_id: str | None
    tool_call_id: str | None
    tool_name: str
    ok: bool
    latency_ms: int | None

    @classmethod
    def read(cls, payload: Payload) -> ToolCall:
        return cls(
            session_id=session_of(payload) or UNKNOWN_SESSION,
            turn_id=named(payload, "turn_id"),
            tool_call_id=named(payload, "tool_call_id"),
            tool_name=text(get(payload, "tool_name")) or "(unknown)",
            ok=_succeeded(payload),
            latency_ms=count(get(payload, "duration_ms")),
        )


@dataclass(frozen=True, slots=True)
class SubagentStart:
    """subagent_start."""

    parent_session_id: str | None
    parent_turn_id: str | None
    parent_subagent_id: str | None
    child_session_id: str | None
    child_subagent_id: str | None
    child_role: str | None

    @classmethod
    def read(cls, payload: Payload) -> SubagentStart:
        return cls(**{name: named(payload, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class SubagentStop:
    """subagent_stop; hosts below 0.16 name no child."""

    parent_session_id: str | None
    parent_turn_id: str | None
    parent_subagent_id: str | None
    child_session_id: str | None
    child_role: str | None
    child_status: str | None
    duration_ms: int | None

    @classmethod
    def read(cls, payload: Payload) -> SubagentStop:
        return cls(
            parent_session_id=session_of(payload, "parent_session_id"),
            parent_turn_id=named(payload, "parent_turn_id"),
            parent_subagent_id=named(payload, "parent_subagent_id"),
            child_session_id=session_of(payload, "child_session_id"),
            child_role=named(payload, "child_role"),
            child_status=named(payload, "child_status"),
            duration_ms=count(get(payload, "duration_ms")),
        )

    @property
    def ok(self) -> bool:
        """The subagent did its work."""
        return self.child_status in _DONE


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """on_session_end, fired at the end of every turn; ``status`` is ok, error or interrupted."""

    session_id: str | None
    turn_id: str | None
    status: str

    @classmethod
    def read(cls, payload: Payload) -> SessionEnd:
        if get(payload, "interrupted") is True:
            status = "interrupted"
        elif get(payload, "completed") is True:
            status = "ok"
        else:
            status = "error"
        return cls(
            session_id=session_of(payload),
            turn_id=named(payload, "turn_id"),
            status=status,
        )


def _plain(value: Any) -> _Count:
    exact = number(value)
    if exact is not None or value is None or type(value) in (bool, str):
        return value if exact is None else exact
    return math.nan  # not to be looked at, but to be told from a count that is missing


def _secretless(*candidates: Any) -> str:
    """The first candidate that has text, redacted and then cut: a cut key has no shape any more."""
    for candidate in candidates:
        found = text(candidate, WINDOW + 1)
        if found:
            return redact(found)[:NAME_LIMIT]
    return ""


def _address(url: Any) -> str | None:
    """A base_url without secrets."""
    if type(url) is str and len(url) <= NAME_LIMIT:
        return _short_address(url)
    return redact(text(url, WINDOW + 1))[:NAME_LIMIT] or None


@lru_cache(maxsize=64)
def _short_address(url: str) -> str | None:
    """Remembered, as every hook of a call brings the same few."""
    return redact(text(url))[:NAME_LIMIT] or None


def _succeeded(payload: Payload) -> bool:
    """Whether a tool call worked: the host's status where it sends one, else the result's
    ``error``.
    """
    status = text(get(payload, "status"))
    if status:
        return status in _DONE
    result = get(payload, "result")
    told = text(result, _RESULT_LIMIT).lstrip()
    # Only an object can have an error.
    if told.startswith("{") and '"error"' in told:
        try:
            result = json.loads(told)
        except (ValueError, RecursionError):
            return True
    return not is_true(get(result, "error"))


def _last_roles(history: Any) -> list[str]:
    """The roles of the last two messages of a conversation."""
    if type(history) is not list:  # isinstance would ask an object that may raise
        return []
    return [text(get(message, "role")) for message in history[-2:]]
