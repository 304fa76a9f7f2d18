"""Plays one scene: the writes that a recorder would make for it, each with its time.

A session is turns, a turn is calls with tools between them. The context grows from call to call,
and a provider with a prompt cache reads most of it from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from ..pricing import Estimate, Usage
from ..pricing.free_tier import is_free_call, is_paid_call
from ..store.calls import PROXY_TOOL
from .demo_failures import BAD_KEY, MODEL_GONE, PASSING, RATE_LIMITED, Failure
from .demo_fleet import QWEN, Fleet
from .demo_scenes import Scene
from .demo_time import MINUTE, MS, SECOND, moment

_MAX_RETRIES = 3
# A call in this share of cases needs another attempt, or comes back without usage.
_HICCUP = 0.012
_USAGE_LOST = 0.003
_INTERRUPTED = 0.04
# The host compresses a context that grows beyond this, in tokens.
_FULL_CONTEXT = 140_000
_COMPRESSED = 20_000
# How long a provider keeps a prompt in its cache.
_CACHE_LIFE = 5 * MINUTE

# Per tool: weight, median latency in ms, share of failures.
_TOOLS = {
    "terminal": (30, 400, 0.06),
    "read_file": (22, 15, 0.02),
    "search_files": (10, 60, 0.01),
    "patch": (9, 25, 0.07),
    "write_file": (6, 20, 0.01),
    "web_search": (8, 900, 0.03),
    "web_extract": (5, 2200, 0.10),
    "browser_navigate": (3, 3500, 0.12),
    "execute_code": (4, 1200, 0.08),
    "memory": (2, 10, 0.0),
    "todo": (4, 5, 0.0),
}
_TOOL_NAMES = list(_TOOLS)
_TOOL_WEIGHTS = [weight for weight, _, _ in _TOOLS.values()]


@dataclass(frozen=True, slots=True)
class Event:
    """One write of the store by name, at `at` (µs); `fields` lack only its `ts`."""

    at: int
    name: str
    fields: dict[str, Any]


def play(scene: Scene, rng: Random, fleet: Fleet, end: int) -> list[Event]:
    """The events of a session and of its subagents, all before `end`.

    One that would go on beyond `end` is told faster, and what ends after it is still running.
    """
    events: list[Event] = []
    _Session(scene, rng, fleet, events, scene.at, None).play()
    over = max(event.at for event in events)
    if over < end:
        return events
    told, room = over - scene.at, end - 1 - scene.at
    return [
        replace(event, at=scene.at + (event.at - scene.at) * room // told)
        for event in events
        if event.name != "end_run" or event.at < end
    ]


class _Session:
    """A session on its way: its clock, its context, the turn it is in."""

    def __init__(
        self,
        scene: Scene,
        rng: Random,
        fleet: Fleet,
        events: list[Event],
        start: int,
        subagent_id: str | None,
    ) -> None:
        self.scene, self._rng, self._fleet, self._events = scene, rng, fleet, events
        stamp = f"{moment(start):%Y%m%d_%H%M%S}"
        self.id = f"cron_{scene.job}_{stamp}" if scene.job else f"{stamp}_{self._hex(6)}"
        self.now = start
        self._subagent_id = subagent_id
        self._model = fleet.offered(scene.model, start)
        self._context = rng.randint(5_000, 8_000) if subagent_id else rng.randint(9_000, 16_000)
        self._cached = False
        self._calls = 0
        self._turn_id: str | None = None
        self._task_id: str | None = None
        self._request_id: str | None = None

    def play(self) -> None:
        """Writes the session from its start to its end, leaving `now` there."""
        scene = self.scene
        self._write(
            "start_run",
            platform=scene.platform,
            cron_job_id=scene.job,
            model=scene.moa_preset or self._model.name,
            sender_id=scene.sender,
            profile=scene.profile,
        )
        if scene.orphan:
            self._unrecorded_parent()
        if scene.trouble == "gone":
            self._begin_turn()
            self._fail(MODEL_GONE, attempts=1, final=True)
            self._model = QWEN  # what the host falls back to, where it does
        while self._calls < scene.calls:
            self._turn()
        if scene.trouble == "storm":
            for _ in range(3):  # asked again and again
                self._begin_turn()
                self._fail(RATE_LIMITED, attempts=_MAX_RETRIES, final=True)
        elif scene.trouble == "auth":
            self._begin_turn()
            self._fail(BAD_KEY, attempts=1, final=True)
        elif scene.calls and not scene.cut_off:
            stopped = scene.platform == "cli" and self._rng.random() < _INTERRUPTED
            self._write("end_run", status="interrupted" if stopped else "ok")

    def _turn(self) -> None:
        rest = self.scene.calls - self._calls
        alone = self.scene.platform in ("cron", "subagent") or self.scene.habit
        size = rest if alone else min(rest, self._rng.choice((1, 1, 2, 2, 3, 4, 6)))
        self._begin_turn()
        for number in range(1, size + 1):
            if self._turn_id:
                self._request_id = f"{self._turn_id}:api:{number}"
            if self.scene.trouble == "storm":
                self._fail(RATE_LIMITED, attempts=_MAX_RETRIES - 1)
            elif self._rng.random() < _HICCUP:
                self._fail(self._rng.choice(PASSING), attempts=self._rng.randint(1, 2))
            self._call()
            for after, child in self.scene.children:
                if after == self._calls:
                    self._delegate(child)
            if number < size:
                self._use_tools()

    def _begin_turn(self) -> None:
        if self._turn_id or self._calls:
            self._wait()
        self.now += self._rng.randint(100, 900) * MS
        if not self.scene.old_host:
            self._task_id = self._subagent_id or self._uuid()
            self._turn_id = f"{self.id}:{self._task_id}:{self._hex(8)}"
            self._request_id = f"{self._turn_id}:api:1"

    def _wait(self) -> None:
        """Until the person writes again."""
        if self.scene.trouble == "storm":
            pause = self._rng.randint(15, 40) * SECOND
        elif self.scene.sender:
            pause = round(self._rng.lognormvariate(6.2, 1.4)) * SECOND
        else:
            pause = round(self._rng.lognormvariate(4.4, 0.9)) * SECOND
        self.now += pause
        self._cached = self._cached and pause < _CACHE_LIFE

    def _call(self) -> None:
        usage = self._usage()
        latency = round(self._rng.lognormvariate(6.6, 0.35) + 1000 * usage.output / self._speed())
        self.now += latency * MS
        estimate = self._fleet.estimate(self._model, usage, self.now)
        self._calls += 1
        self._write(
            "record_llm_call",
            model=self._model.name,
            provider=self._model.provider,
            tokens_in=usage.input,
            tokens_out=usage.output,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            reasoning_tokens=usage.reasoning,
            cost_usd=estimate.cost_usd,
            latency_ms=latency,
            estimated=int(usage.estimated),
            provider_assumed=int(estimate.price is not None and estimate.price.basis == "assumed"),
            moa_preset=self.scene.moa_preset,
            turn_id=self._turn_id,
            task_id=self._task_id,
            api_request_id=self._request_id,
            price=estimate.record,
        )
        self._note_free_or_paid(usage, estimate)

    def _note_free_or_paid(self, usage: Usage, estimate: Estimate) -> None:
        """What a recorder says of the model after each call; what is no news the store drops."""
        of_model = {"model": self._model.name, "provider": self._model.provider}
        if is_free_call(usage, estimate):
            self._events.append(Event(self.now, "record_free_model", of_model))
        elif is_paid_call(usage, estimate):
            self._write("note_paid_call", cost_usd=estimate.cost_usd, **of_model)

    def _speed(self) -> float:
        """Output tokens per second of this call."""
        return self._model.tokens_per_s * self._rng.uniform(0.7, 1.3)

    def _usage(self) -> Usage:
        rng, model = self._rng, self._model
        fresh = min(30_000, round(rng.lognormvariate(6.6, 0.9)))
        output = min(8_000, max(5, round(rng.lognormvariate(5.5, 0.9))))
        before, cached = self._context, self._cached and model.caches
        self._context += fresh + output
        self._cached = True
        if self._context > _FULL_CONTEXT:
            self._context, self._cached = _COMPRESSED, False
        if model.silent or rng.random() < _USAGE_LOST:
            return Usage(input=before + fresh, output=output, estimated=True)
        reasoning = round(output * model.reasoning)
        read, new = (before, fresh) if cached else (0, before + fresh)
        written = new - rng.randint(2, 5) if model.bills_cache_writes else 0
        return Usage(new - written, output, read, written, reasoning)

    def _fail(self, failure: Failure, *, attempts: int, final: bool = False) -> None:
        for attempt in range(attempts):
            duration = self._rng.randint(150, 900)
            if failure.error_type == "APITimeoutError":
                duration += 60_000
            self.now += duration * MS
            self._write(
                "record_llm_call_error",
                turn_id=self._turn_id,
                task_id=self._task_id,
                api_request_id=self._request_id,
                model=self._model.name,
                provider=self._model.provider,
                status_code=failure.status_code,
                error_type=failure.error_type,
                error_message=failure.message,
                reason=failure.reason,
                retryable=int(failure.retryable),
                retry_count=attempt,
                max_retries=_MAX_RETRIES,
                duration_ms=duration,
                final=final and attempt == attempts - 1,
            )
            self.now += self._rng.randint(1, 3) * 2**attempt * SECOND
        if failure is MODEL_GONE:
            alert = {
                "model": self._model.name,
                "provider": self._model.provider,
                "error_code": failure.status_code,
                "error_message": failure.message,
            }
            self._events.append(Event(self.now, "record_model_unavailable", alert))

    def _use_tools(self) -> None:
        habit = self.scene.habit
        for _ in range(1 if habit == "loop" else self._rng.choice((1, 1, 1, 2, 3))):
            name = self._rng.choices(_TOOL_NAMES, _TOOL_WEIGHTS)[0]
            _, median, failing = _TOOLS[name]
            if habit == "loop":
                name = "terminal"
            elif habit == "thrash":
                failing = 0.5
            latency = max(1, round(median * self._rng.lognormvariate(0, 0.8)))
            self.now += latency * MS
            self._tool(name, latency, ok=self._rng.random() >= failing)

    def _tool(self, name: str, latency_ms: int, *, ok: bool = True) -> None:
        # The proxy row stands for a subagent, not for a call that the model made.
        call_id = f"call_{self._hex(12)}" if self._turn_id and name != PROXY_TOOL else None
        self._write(
            "record_tool_call",
            tool_name=name,
            ok=int(ok),
            latency_ms=latency_ms,
            turn_id=self._turn_id,
            tool_call_id=call_id,
        )

    def _delegate(self, scene: Scene) -> None:
        start = self.now + self._rng.randint(200, 700) * MS
        subagent_id = f"sa-0-{self._hex(8)}"
        child = _Session(scene, self._rng, self._fleet, self._events, start, subagent_id)
        edge = {
            "child_session_id": child.id,
            "parent_session_id": self.id,
            "parent_turn_id": self._turn_id,
            "parent_subagent_id": self._subagent_id,
            "child_role": "orchestrator" if scene.children else "leaf",
        }
        if not scene.old_host:
            begun = {**edge, "child_subagent_id": subagent_id}
            self._events.append(Event(start, "start_edge", begun))
        child.play()
        if not scene.cut_off:
            self.now = child.now + self._rng.randint(5, 40) * MS
            if not scene.old_host:
                stop = {**edge, "child_status": "completed"}
                self._events.append(Event(self.now, "stop_edge", stop))
            self._tool(PROXY_TOOL, (child.now - start) // MS)
        self._tool("delegate_task", (self.now - start) // MS if not scene.cut_off else 40)

    def _unrecorded_parent(self) -> None:
        """The edge to a session that ran before there was a recorder."""
        stamp = f"{moment(self.now - 20 * MINUTE):%Y%m%d_%H%M%S}"
        parent = f"{stamp}_{self._hex(6)}"
        edge = {
            "child_session_id": self.id,
            "parent_session_id": parent,
            "parent_turn_id": f"{parent}:{self._uuid()}:{self._hex(8)}",
            "child_role": "leaf",
        }
        if self.scene.old_host:
            edge["parent_turn_id"] = ""
        self._events.append(Event(self.now, "start_edge", edge))

    def _write(self, name: str, **fields: Any) -> None:
        self._events.append(Event(self.now, name, {"session_id": self.id, **fields}))

    def _hex(self, digits: int) -> str:
        return f"{self._rng.getrandbits(4 * digits):0{digits}x}"

    def _uuid(self) -> str:
        return "-".join(self._hex(digits) for digits in (8, 4, 4, 4, 12))
