"""Model calls through a recorder's hooks, as a host reports them, and how long each hook took.

    python benchmarks/calling.py HOME NAME [--threads 1] [--calls 1000] [--pause MS]

Says "ready", waits for a line on its standard input, makes so many calls in each thread and prints
one JSON object: the milliseconds of each, what was logged, and memory in the course of it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

os.environ["HERMES_TELEMETRY_NO_SETUP"] = "1"

from children import LIMIT_S, own_memory_bytes, settle

from hermes_telemetry.recorder import Recorder

Hooks = Mapping[str, Callable[..., Any]]

LISTED = ("anthropic/claude-sonnet-4", "openrouter")
"""A model and its provider, as the host names them; `list_its_price` lists what it costs."""


def list_its_price(home: Path) -> None:
    rates = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
    (home / "pricing.yaml").write_text(json.dumps({"models": {LISTED[0]: rates}}))  # JSON is YAML


class Session:
    """A session of one model. ``work`` is the processor time that the last call took to record, in
    milliseconds, which is what other processes cannot lengthen.
    """

    def __init__(self, hooks: Hooks, name: str, model: str, provider: str) -> None:
        self._hooks = hooks
        self._session_id = name
        self._who = {"model": model, "provider": provider, "api_mode": "chat_completions"}
        self._calls = 0
        self.work = 0.0
        hooks["on_session_start"](session_id=name, model=model, platform="cli")

    def call(self) -> float:
        """Milliseconds of post_api_request, from its payload to its row."""
        self._calls += 1
        turn = f"{self._session_id}:task:{self._calls:08x}"
        ids = {
            "session_id": self._session_id,
            "task_id": "task",
            "turn_id": turn,
            "api_request_id": f"{turn}:api:1",
            "api_call_count": 1,
            "base_url": "https://openrouter.ai/api/v1",
            **self._who,
        }
        usage = {
            "input_tokens": 1_000,
            "output_tokens": 200,
            "cache_read_tokens": 5_000,
            "cache_write_tokens": 0,
            "reasoning_tokens": 0,
            "request_count": 1,
            "prompt_tokens": 6_000,
            "total_tokens": 6_200,
        }
        self._hooks["pre_api_request"](**ids, approx_input_tokens=6_000, max_tokens=None)
        began, work = time.perf_counter(), time.thread_time()
        self._hooks["post_api_request"](
            **ids,
            response_model=self._who["model"],
            api_duration=0.9,
            finish_reason="stop",
            usage=usage,
            assistant_content_chars=800,
        )
        took = time.perf_counter() - began
        self.work = (time.thread_time() - work) * 1000
        return took * 1000

    def end(self) -> None:
        """The session is over."""
        self._hooks["on_session_finalize"](session_id=self._session_id, platform="cli")

    def fail(self) -> None:
        """An attempt that the provider refuses, and that will be tried again."""
        self._hooks["api_request_error"](
            session_id=self._session_id,
            turn_id=f"{self._session_id}:task:{self._calls:08x}",
            **self._who,
            status_code=429,
            retryable=True,
            retry_count=0,
            max_retries=3,
            error={"type": "RateLimitError", "message": "slow down"},
        )


def begun(home: Path, name: str, model: str = LISTED[0], provider: str = LISTED[1]) -> Session:
    """A session of a recorder of its own whose prices and limits are loaded: what a process does
    beside its first hooks belongs to none of them.
    """
    session = Session(Recorder(home, profile=lambda: "profile").hooks(), name, model, provider)
    session.call()
    settle()
    session.call()
    return session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("home", type=Path, metavar="HOME", help="the telemetry home")
    parser.add_argument("name", metavar="NAME", help="how the sessions' ids begin")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--calls", type=int, default=1000, help="of each thread")
    parser.add_argument("--pause", type=float, default=0, metavar="MS", help="after each call")
    parser.add_argument("--fail", action="store_true", help="one attempt of ten fails first")
    parser.add_argument(
        "--renew",
        type=int,
        metavar="CALLS",
        help="after so many a session ends, and a new thread goes on with a new one",
    )
    asked = parser.parse_args()

    said: list[str] = []
    ear = logging.Handler(logging.WARNING)
    ear.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("hermes_telemetry").addHandler(ear)

    hooks = Recorder(asked.home, profile=lambda: "profile").hooks()
    began = threading.Barrier(asked.threads + 1)
    # At their full length from the beginning, for what is measured is memory, too.
    times = [array("d", bytes(8 * (asked.calls - 1))) for _ in range(asked.threads)]
    made = [0] * asked.threads

    def call(number: int, session: Session, counts: range) -> None:
        for count in counts:
            if asked.fail and count % 10 == 0:
                session.fail()
            times[number][count] = session.call()
            made[number] += 1
            if asked.pause:
                time.sleep(asked.pause / 1000)

    def call_anew(number: int, counts: range) -> None:
        session = Session(hooks, f"{asked.name}-{number}-{counts.start}", *LISTED)
        call(number, session, counts)
        session.end()

    def work(number: int) -> None:
        session = Session(hooks, f"{asked.name}-{number}", *LISTED)
        session.call()  # makes the thread's connection
        began.wait(LIMIT_S)
        counts = range(asked.calls - 1)
        if not asked.renew:
            call(number, session, counts)
            return
        for first in counts[:: asked.renew]:
            part = counts[first : first + asked.renew]
            turn = threading.Thread(target=call_anew, args=(number, part), daemon=True)
            turn.start()
            turn.join()

    # Daemons: none of them keeps a process that fails from ending.
    workers = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(asked.threads)]
    for worker in workers:
        worker.start()
    settle()
    print("ready", flush=True)
    if not sys.stdin.readline():
        raise SystemExit("nobody is left who wants to know")
    began.wait(LIMIT_S)
    memory = []
    while any(worker.is_alive() for worker in workers):
        share = sum(made) / max(1, asked.threads * (asked.calls - 1))
        memory.append((share, own_memory_bytes()))
        time.sleep(0.05)
    print(json.dumps({"ms": list(chain(*times)), "said": said, "memory": memory}))


if __name__ == "__main__":
    main()
