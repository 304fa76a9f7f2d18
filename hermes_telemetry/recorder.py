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
from typing import TYPE_CHECKING, Any, NamedTuple

from . import rows
from .first_load import write_missing
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
from .store.connection import Ledger
from .store.writes import Write
from .turns import Turns
from .windows import SYSTEM_CLOCK, Clock, timestamp

if TYPE_CHECKING:
    from .accounting import Accounting
    from .budget.gate import Gate

_log = logging.getLogger("hermes_telemetry")

Hook = Callable[..., Any]

_CRON_SESSION = re.compile(r"^cron_(?P<job_id>.+)_\d{8}_\d{6}$")
# Job ids may hold underscores themselves, hence the anchors.


class _Opened(NamedTuple):
    """What belongs to a telemetry home."""

    ledger: Ledger
    accounting: Accounting
    gate: Gate


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
        self._opened: _Opened | None = None
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
            self._gate.begin()

    def pre_llm_call(self, payload: dict[str, Any]) -> dict[str, str] | None:
        turn = TurnStart.read(payload)
        if not turn.session_id:
            return None
        self._write(self._run_starts(turn.session_id, turn.platform, turn.model, turn.sender_id))
        self._gate.begin()  # of a session that goes on, the host reports no start
        if _in_background_review() or not turn.is_heard:
            return None  # notices wait for a turn of the user's in which the model sees them
        notices = self._turns.take_notices(turn.session_id)
        if turn.platform != "subagent":  # it would keep them from the user
            notices += filter(None, [self._gate.notices(turn.session_id)])
        return {"context": "\n\n".join(notices)} if notices else None

    def pre_api_request(self, payload: dict[str, Any]) -> None:
        began, now = self._now(), self._clock.monotonic()
        attempt = Attempt.read(payload)
        unanswered = self._turns.begin_attempt(attempt, now)
        self._accounting.begun(attempt)
        if unanswered is not None:
            call = self._accounting.unanswered(unanswered, ts=began)
            self._write(*call)
            self._gate.called(unanswered.session_id, call[0].fields["cost_usd"])

    def post_api_request(self, payload: dict[str, Any]) -> None:
        ended, now = self._now(), self._clock.monotonic()
        call = AnsweredCall.read(payload)
        session_id = call.attempt.session_id
        begun, latency_ms = self._turns.close_attempt(call.attempt, now)
        opened = self._open()
        writes = opened.accounting.answered(
            call,
            begun,
            ts=ended,
            latency_ms=call.duration_ms if latency_ms is None else latency_ms,
            reopen=not _in_background_review(),
        )
        results = self._write(*writes)
        for notice in opened.accounting.notices(writes, results):
            _log.warning("%s", notice)  # the session may have no turn left that could hear it
            self._turns.queue_notice(session_id, notice)
        opened.gate.called(session_id, writes[0].fields["cost_usd"])

    def api_request_error(self, payload: dict[str, Any]) -> None:
        ended, now = self._now(), self._clock.monotonic()
        failure = FailedAttempt.read(payload)
        attempt = failure.attempt
        _, duration_ms = self._turns.close_attempt(attempt, now)
        if rows.says_model_is_gone(failure) and self._turns.first_time(
            "model gone", attempt.session_id, failure.model
        ):
            self._turns.queue_notice(
                attempt.session_id,
                f"Telemetry: {attempt.provider or 'the provider'} answered 404 for the model"
                f" {failure.model}: it may be gone or renamed. Please tell the operator.",
            )
        self._write(
            *rows.failed_attempt(
                failure,
                ts=ended,
                duration_ms=failure.duration_ms if duration_ms is None else duration_ms,
                final=failure.is_final and not _in_background_review(),
            )
        )

    def pre_tool_call(self, payload: dict[str, Any]) -> dict[str, str] | None:
        """Nothing is recorded before a tool runs, but its session may have spent its budget."""
        message = self._gate.blocked(session_of(payload) or UNKNOWN_SESSION)
        return {"action": "block", "message": message} if message else None

    def post_tool_call(self, payload: dict[str, Any]) -> None:
        ended = self._now()
        self._write(rows.tool_call(ToolCall.read(payload), ended))

    def post_llm_call(self, payload: dict[str, Any]) -> None:
        session_id = session_of(payload)
        if session_id and not _in_background_review():
            self._write(Write("touch_run", {"session_id": session_id, "ts": self._now()}))

    def subagent_start(self, payload: dict[str, Any]) -> None:
        writes = rows.subagent_started(SubagentStart.read(payload), self._now())
        if writes:
            self._write(*writes)

    def subagent_stop(self, payload: dict[str, Any]) -> None:
        ended = self._now()
        self._write(*rows.subagent_stopped(SubagentStop.read(payload), ended))

    def on_session_end(self, payload: dict[str, Any]) -> None:
        writes = rows.turn_ended(
            SessionEnd.read(payload), ts=self._now(), tells_turn_ids=tells_turn_ids(payload)
        )
        if writes and not _in_background_review():
            self._write(*writes)

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
        return self._open().accounting

    @property
    def _gate(self) -> Gate:
        return self._open().gate

    def _open(self) -> _Opened:
        """Ledger, prices and limits of the home, made at the first hook; no file is opened yet."""
        if self._opened is None:
            # Every `hermes` word registers plugins; only those that call a model need these.
            from .accounting import Accounting
            from .budget.gate import Gate

            with self._opening:
                if self._opened is None:
                    # A relative one means the folder of now, whatever the host changes to later.
                    home = (self._home or telemetry_home()).absolute()
                    ledger = Ledger(database_path(home), clock=self._clock)
                    self._opened = _Opened(
                        ledger,
                        Accounting(home, self._turns, self._clock),
                        Gate(ledger, self._turns, self._clock),
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
            self._opened.accounting.begin_anew()
            self._opened.gate.begin_anew()

    def _prepare(self) -> None:
        """What the first hook of a process has done beside it."""
        try:
            write_missing(self._open().ledger.path.parent)  # before prices are fetched into one
            writes = self._accounting.prepare()
            if writes:
                self._write(*writes)
        except Exception as error:
            _log.warning("prices were not made ready: %s", describe(error))

    def _write(self, *writes: Write) -> Sequence[Any]:
        """Hand the writes to the ledger; their results, none where they have to wait."""
        batch = list(writes)
        if self._sightings:
            with suppress(IndexError):  # not by the length: other threads take, too
                while True:
                    batch.append(self._sightings.popleft())
        opened = self._open()
        results = opened.ledger.apply(batch)
        opened.gate.wrote(batch)
        return results or ()

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
