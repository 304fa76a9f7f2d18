"""One method per hook: it reads the payload and hands the store what happened.

A hook never raises and never exits, and it waits for the ledger no longer than the ledger's own
deadline: the host runs hooks in the middle of a turn, without a timeout. Everything a hook has to
say is on disk when it returns, since the host may leave by ``os._exit`` a moment later.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .hooks import HOOKS
from .paths import database_path, telemetry_home
from .payloads import (
    UNKNOWN_SESSION,
    AnsweredCall,
    Attempt,
    FailedAttempt,
    SessionEnd,
    SessionStart,
    SubagentStart,
    SubagentStop,
    ToolCall,
    TurnStart,
    describe,
    identifier,
    session_of,
    tells_turn_ids,
)
from .store.calls import PROXY_TOOL
from .store.connection import Ledger
from .store.writes import Write
from .turns import Turns
from .windows import SYSTEM_CLOCK, Clock, timestamp

if TYPE_CHECKING:
    from .accounting import Accounting

_log = logging.getLogger("hermes_telemetry")

Hook = Callable[..., Any]

_CRON_SESSION = re.compile(r"^cron_(?P<job_id>.+)_\d{8}_\d{6}$")
# Job ids may hold underscores themselves, hence the anchors.

_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


class Recorder:
    """The hooks of one telemetry home.

    ``home`` defaults to the telemetry home of the environment, looked up at the first hook.
    ``profile`` tells the host's current profile name or None; it may raise.
    """

    def __init__(
        self,
        home: Path | None = None,
        clock: Clock = SYSTEM_CLOCK,
        profile: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.profile = profile
        self._home = home
        self._clock = clock
        self._turns = Turns()
        self._opening = threading.Lock()
        self._opened: tuple[Ledger, Accounting] | None = None
        self._hooks = {name: self._guarded(name) for name in HOOKS}
        self._sighted: set[str] = set()
        self._sightings: deque[Write] = deque()
        _recorders.add(self)

    def hooks(self) -> Mapping[str, Hook]:
        """The callback for each of the host's hooks, by its name."""
        return self._hooks

    def on_session_start(self, payload: dict[str, Any]) -> None:
        start = SessionStart.read(payload)
        if start.session_id:
            self._write(self._run_starts(start.session_id, start.platform, start.model, None))

    def pre_llm_call(self, payload: dict[str, Any]) -> dict[str, str] | None:
        turn = TurnStart.read(payload)
        if not turn.session_id:
            return None
        self._write(self._run_starts(turn.session_id, turn.platform, turn.model, turn.sender_id))
        if _in_background_review() or not turn.is_heard:
            return None  # notices wait for a turn of the user's in which the model sees them
        notices = self._turns.take_notices(turn.session_id)
        return {"context": "\n\n".join(notices)} if notices else None

    def pre_api_request(self, payload: dict[str, Any]) -> None:
        began, now = self._now(), self._clock.monotonic()
        attempt = Attempt.read(payload)
        unanswered = self._turns.begin_attempt(attempt, now)
        self._accounting.begun(attempt)
        if unanswered is not None:
            self._write(*self._accounting.unanswered(unanswered, ts=began))

    def post_api_request(self, payload: dict[str, Any]) -> None:
        ended, now = self._now(), self._clock.monotonic()
        call = AnsweredCall.read(payload)
        begun, latency_ms = self._turns.close_attempt(call.attempt, now)
        writes = self._accounting.answered(
            call,
            begun,
            ts=ended,
            latency_ms=call.duration_ms if latency_ms is None else latency_ms,
            reopen=not _in_background_review(),
        )
        results = self._write(*writes)
        for notice in self._accounting.notices(writes, results):
            _log.warning("%s", notice)  # the session may have no turn left that could hear it
            self._turns.queue_notice(call.attempt.session_id, notice)

    def api_request_error(self, payload: dict[str, Any]) -> None:
        ended, now = self._now(), self._clock.monotonic()
        failure = FailedAttempt.read(payload)
        attempt = failure.attempt
        _, duration_ms = self._turns.close_attempt(attempt, now)
        writes = [
            Write(
                "record_llm_call_error",
                {
                    "session_id": attempt.session_id,
                    "ts": ended,
                    "turn_id": attempt.turn_id,
                    "task_id": attempt.task_id,
                    "api_request_id": attempt.api_request_id,
                    "model": failure.model,
                    "provider": attempt.provider or "",
                    "status_code": failure.status_code,
                    "error_type": failure.error_type,
                    "error_message": failure.error_message,
                    "reason": failure.reason,
                    "retryable": None if failure.retryable is None else int(failure.retryable),
                    "retry_count": failure.retry_count,
                    "max_retries": failure.max_retries,
                    "duration_ms": failure.duration_ms if duration_ms is None else duration_ms,
                    "final": failure.is_final and not _in_background_review(),
                },
            )
        ]
        # A 404 that may be retried, or of which the host says nothing, is no statement about the
        # model.
        if failure.status_code == 404 and failure.retryable is False and failure.model:
            writes.append(
                Write(
                    "record_model_unavailable",
                    {
                        "model": failure.model,
                        "provider": attempt.provider or "",
                        "error_code": 404,
                        "error_message": failure.error_message,
                        "ts": ended,
                    },
                )
            )
            if self._turns.first_time("model gone", attempt.session_id, failure.model):
                self._turns.queue_notice(
                    attempt.session_id,
                    f"Telemetry: {attempt.provider or 'the provider'} answered 404 for the model"
                    f" {failure.model}: it may be gone or renamed. Please tell the operator.",
                )
        self._write(*writes)

    def pre_tool_call(self, payload: dict[str, Any]) -> None:
        """Nothing is recorded before a tool runs."""

    def post_tool_call(self, payload: dict[str, Any]) -> None:
        ended = self._now()
        tool = ToolCall.read(payload)
        self._write(
            Write(
                "record_tool_call",
                {
                    "session_id": tool.session_id,
                    "ts": ended,
                    "tool_name": tool.tool_name,
                    "ok": int(tool.ok),
                    "latency_ms": tool.latency_ms,
                    "turn_id": tool.turn_id,
                    "tool_call_id": tool.tool_call_id,
                },
            )
        )

    def post_llm_call(self, payload: dict[str, Any]) -> None:
        session_id = session_of(payload)
        if session_id and not _in_background_review():
            self._write(Write("touch_run", {"session_id": session_id, "ts": self._now()}))

    def subagent_start(self, payload: dict[str, Any]) -> None:
        start = SubagentStart.read(payload)
        if start.child_session_id and start.parent_session_id:
            self._write(
                Write(
                    "start_edge",
                    {
                        "child_session_id": start.child_session_id,
                        "parent_session_id": start.parent_session_id,
                        "ts": self._now(),
                        "parent_turn_id": start.parent_turn_id,
                        "parent_subagent_id": start.parent_subagent_id,
                        "child_subagent_id": start.child_subagent_id,
                        "child_role": start.child_role,
                    },
                )
            )

    def subagent_stop(self, payload: dict[str, Any]) -> None:
        stop, ended = SubagentStop.read(payload), self._now()
        writes = [
            Write(
                "record_tool_call",
                {
                    "session_id": stop.parent_session_id or UNKNOWN_SESSION,
                    "ts": ended,
                    "tool_name": PROXY_TOOL,
                    "ok": int(stop.ok),
                    "latency_ms": stop.duration_ms,
                    "turn_id": stop.parent_turn_id,
                },
            )
        ]
        if stop.child_session_id:
            writes.append(
                Write(
                    "stop_edge",
                    {
                        "child_session_id": stop.child_session_id,
                        "parent_session_id": stop.parent_session_id,
                        "ts": ended,
                        "parent_turn_id": stop.parent_turn_id,
                        "parent_subagent_id": stop.parent_subagent_id,
                        "child_role": stop.child_role,
                        "child_status": stop.child_status,
                    },
                )
            )
        self._write(*writes)

    def on_session_end(self, payload: dict[str, Any]) -> None:
        end = SessionEnd.read(payload)
        if not end.session_id or _in_background_review():
            return
        # The terminal interface sends a second end, interrupted and without a turn, at a clean
        # close.
        is_close = end.status == "interrupted" and not end.turn_id and tells_turn_ids(payload)
        self._write(
            Write(
                "end_run",
                {
                    "session_id": end.session_id,
                    "ts": self._now(),
                    "status": end.status,
                    "keep_ok": is_close,
                },
            )
        )

    def on_session_finalize(self, payload: dict[str, Any]) -> None:
        session_id = session_of(payload)
        if session_id and not _in_background_review():
            self._write(Write("finalize_run", {"session_id": session_id, "ts": self._now()}))

    def on_session_reset(self, payload: dict[str, Any]) -> None:
        """The session that begins announces itself; its notices, if an id comes back, are stale."""
        session_id = session_of(payload)
        if session_id:
            self._turns.take_notices(session_id)

    def _run_starts(
        self, session_id: str, platform: str | None, model: str | None, sender_id: str | None
    ) -> Write:
        return Write(
            "start_run",
            {
                "session_id": session_id,
                "ts": self._now(),
                "platform": platform,
                "cron_job_id": self._cron_job(session_id, platform),
                "model": model,
                "sender_id": sender_id,
                "profile": self._profile_name(),
                "reopen": not _in_background_review(),
            },
        )

    def _cron_job(self, session_id: str, platform: str | None) -> str | None:
        if platform != "cron":
            return None
        match = _CRON_SESSION.match(session_id)
        if match is None:
            if self._turns.first_time("no cron job"):
                _log.warning(
                    "the cron session %r names no job, so no job is charged for such sessions",
                    session_id,
                )
            return None
        return match["job_id"]

    def _profile_name(self) -> str | None:
        try:
            return identifier(self.profile())
        except Exception:
            return None

    def _now(self) -> str:
        return timestamp(self._clock.now())

    @property
    def _accounting(self) -> Accounting:
        return self._open()[1]

    def _open(self) -> tuple[Ledger, Accounting]:
        """Ledger and prices of the home, made at the first hook; no file is opened yet."""
        if self._opened is None:
            # Every `hermes` word registers plugins; only those that call a model need prices.
            from .accounting import Accounting

            with self._opening:
                if self._opened is None:
                    # A relative one means the folder of now, whatever the host changes to later.
                    home = (self._home or telemetry_home()).absolute()
                    self._opened = (
                        Ledger(database_path(home), clock=self._clock),
                        Accounting(home, self._turns, self._clock),
                    )
                    preparing = threading.Thread(
                        target=self._prepare, name="telemetry-prices", daemon=True
                    )
                    with suppress(RuntimeError):  # no thread is to be had: prices come in slower
                        preparing.start()
        return self._opened

    def _begin_anew(self) -> None:
        """In a forked child: locks may be held by threads that it lacks."""
        self._opening = threading.Lock()
        self._turns.begin_anew()
        if self._opened is not None:
            self._opened[1].begin_anew()

    def _prepare(self) -> None:
        """What the first hook of a process has done beside it."""
        try:
            writes = self._accounting.prepare()
            if writes:
                self._write(*writes)
        except Exception as error:
            _log.warning("prices were not made ready: %s", describe(error))

    def _write(self, *writes: Write) -> Sequence[Any]:
        """Hand the writes to the ledger; their results, none where they have to wait."""
        batch = list(writes)
        with suppress(IndexError):  # rather than a look at the length: other threads take, too
            while True:
                batch.append(self._sightings.popleft())
        return self._open()[0].apply(batch) or ()

    def _guarded(self, name: str) -> Hook:
        method: Callable[[dict[str, Any]], Any] = getattr(self, name)

        def hook(**payload: Any) -> Any:
            try:
                if name not in self._sighted:
                    self._sighted.add(name)
                    self._sightings.append(Write("note_hook", {"hook": name, "ts": self._now()}))
                return method(payload)
            except Exception as error:
                if self._turns.first_time("fault", name, type(error).__name__):
                    _log.error("the hook %s was not recorded: %s", name, describe(error))
                return None

        hook.__name__ = name
        return hook


def _in_background_review() -> bool:
    """Whether the host's background review is calling: its turns use the user's session."""
    return threading.current_thread().name.startswith("bg-review")


def _begin_anew_in_child() -> None:
    for recorder in _recorders:
        recorder._begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_begin_anew_in_child)
