"""Hook calls captured from the real host, given to a recorder again as the host gave them.

``tests/payloads/`` holds one scenario a file: hook, thread, offset in seconds, keyword arguments.
A replay calls each hook on a real thread of the recorded name, one call after the other in the
recorded order, with the clock standing at the recorded offset.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.stopped_clock import StoppedClock

PAYLOADS = Path(__file__).parents[1] / "payloads"

Hooks = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class HookCall:
    """One call as the host made it; ``offset`` is seconds since the recording began."""

    hook: str
    thread: str
    offset: float
    kwargs: dict[str, Any]


def scenarios() -> list[str]:
    """The names of all recorded scenarios."""
    return sorted(path.stem for path in PAYLOADS.glob("*.json"))


def hook_calls(scenario: str) -> list[HookCall]:
    """The hook calls of one scenario in order."""
    recorded = json.loads((PAYLOADS / f"{scenario}.json").read_text(encoding="utf-8"))
    return [
        HookCall(event["hook"], event["thread"], event["t_offset_s"], event["kwargs"])
        for event in recorded["events"]
    ]


def replay(
    hooks: Hooks, calls: Iterable[HookCall], clock: StoppedClock, *, start: float = 0.0
) -> list[Any]:
    """Make the calls, each on its recorded thread; what the hooks returned, in order.

    The recording begins ``start`` seconds after the clock's noon.
    """
    returned = []
    with ExitStack() as running:
        threads: dict[str, ThreadPoolExecutor] = {}
        for call in calls:
            clock.seconds = start + call.offset
            callback = hooks[call.hook]
            if call.thread == "MainThread":
                returned.append(callback(**call.kwargs))
                continue
            if call.thread not in threads:
                threads[call.thread] = running.enter_context(_thread(call.thread))
            returned.append(threads[call.thread].submit(callback, **call.kwargs).result())
    return returned


def _thread(name: str) -> ThreadPoolExecutor:
    """One thread of exactly this name: recorders know the host's review thread by its name."""

    def take_name() -> None:
        threading.current_thread().name = name

    return ThreadPoolExecutor(max_workers=1, initializer=take_name)
