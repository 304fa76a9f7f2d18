"""What must be remembered between two hooks: clocks of running attempts, the last call's cache
split and whether it was free, notices.

Everything is keyed by ids, never by thread, since the host runs tools and subagents on pools, and
bounded, since it runs for years: the longest unused entry goes first. What the host reports becomes
a row without any of it; a lost entry costs a latency of our own measure, the split of an estimate,
the estimated row of a call that was cut off, a notice, or a tool of a session that calls a free
model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .payloads import Attempt

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

TURNS_KEPT = 4096
NOTICES_KEPT = 16


class Recent(Generic[_Key, _Value]):
    """A dictionary that forgets what was not used for longest. Not locked: its owner is."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[_Key, _Value] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def pop(self, key: _Key) -> _Value | None:
        return self._entries.pop(key, None)


@dataclass(slots=True)
class OpenAttempt:
    """An attempt on its way: ``began`` is the monotonic clock in seconds at pre_api_request."""

    attempt: Attempt
    began: float
    closed: bool = False


class Turns:
    """The memory of one recorder, used from any thread."""

    def __init__(self) -> None:
        self.begin_anew()
        self._attempts: Recent[tuple[str, str | None], OpenAttempt] = Recent(TURNS_KEPT)
        self._cached_share: Recent[tuple[str, str | None], float] = Recent(TURNS_KEPT)
        self._last_was_free: Recent[str, bool] = Recent(TURNS_KEPT)
        self._notices: Recent[str, list[str]] = Recent(TURNS_KEPT)
        self._said: Recent[Hashable, bool] = Recent(TURNS_KEPT)

    def begin_anew(self) -> None:
        """In a forked child the lock may be held by a thread that it lacks."""
        self._lock = threading.Lock()

    def begin_attempt(self, attempt: Attempt, now: float) -> Attempt | None:
        """Start the clock of an attempt; the turn's former call, if it was never closed.

        Only a call with a lower number counts as former (a retry has the same number), and only on
        hosts that send turn ids: older ones do not report failed attempts, so "never closed" says
        nothing there.
        """
        with self._lock:
            former = self._attempts.get(attempt.turn_key)
            self._attempts.put(attempt.turn_key, OpenAttempt(attempt, now))
        if former is None or former.closed or not attempt.turn_id:
            return None
        if (attempt.number or 0) <= (former.attempt.number or 0):
            return None
        return former.attempt

    def close_attempt(self, attempt: Attempt, now: float) -> tuple[Attempt | None, int | None]:
        """Stop the clock: what pre_api_request told of the attempt, and its own duration in ms.

        (None, None) when no such attempt is on its way.
        """
        with self._lock:
            begun = self._attempts.get(attempt.turn_key)
            if begun is None or begun.closed or not _same_call(begun.attempt, attempt):
                return None, None
            begun.closed = True
        return begun.attempt, max(0, round((now - begun.began) * 1000))

    def remember_cache(self, attempt: Attempt, fresh: int, cached: int) -> None:
        """How a call's input was split into fresh and cache-read tokens, for estimates later in
        its turn.
        """
        total = fresh + cached
        if total:
            with self._lock:
                self._cached_share.put(attempt.turn_key, cached / total)

    def split_input(self, attempt: Attempt, tokens: int) -> tuple[int, int]:
        """An estimated prompt as (fresh, cached) tokens, divided like the turn's previous call."""
        with self._lock:
            share = self._cached_share.get(attempt.turn_key) or 0.0
        cached = round(tokens * share)
        return tokens - cached, cached

    def remember_cost(self, session_id: str, cost_usd: float | None) -> None:
        """What a session's newest call cost (USD, None = unknown)."""
        with self._lock:
            self._last_was_free.put(session_id, cost_usd == 0)

    def last_call_was_free(self, session_id: str) -> bool:
        """Whether a session's newest call cost nothing; False for one that has made none."""
        with self._lock:
            return bool(self._last_was_free.get(session_id))

    def queue_notice(self, session_id: str, notice: str) -> None:
        """Keep a notice for the session's next turn."""
        with self._lock:
            notices = self._notices.get(session_id) or []
            self._notices.put(session_id, [*notices, notice][-NOTICES_KEPT:])

    def take_notices(self, session_id: str) -> list[str]:
        """The notices that wait for a session, once."""
        with self._lock:
            return self._notices.pop(session_id) or []

    def first_time(self, *what: Hashable) -> bool:
        """True once per ``what``: for warnings and notices that must not repeat."""
        with self._lock:
            if self._said.get(what):
                return False
            self._said.put(what, True)
            return True

    def has_said(self, *what: Hashable) -> bool:
        """Whether `first_time` was asked for ``what`` before."""
        with self._lock:
            return bool(self._said.get(what))


def _same_call(begun: Attempt, ended: Attempt) -> bool:
    if begun.api_request_id or ended.api_request_id:
        return begun.api_request_id == ended.api_request_id
    return begun.number == ended.number
