"""A recorder at work in a process of its own: one answered call every five milliseconds."""

import json
import subprocess
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from support.tree import ROOT

_PROGRAM = """
import json, sys, threading, time
from hermes_telemetry.recorder import Recorder

over = threading.Event()
answered = Recorder().hooks()["post_api_request"]
calls, worst = 0, 0.0

def call():
    global calls, worst
    calls += 1
    began = time.perf_counter()
    answered(session_id="live", turn_id=f"live:{calls}", api_request_id=f"live:{calls}:api:1")
    worst = max(worst, time.perf_counter() - began)

def wait_for_the_end():
    sys.stdin.read()
    over.set()

call()
print("ready", flush=True)
threading.Thread(target=wait_for_the_end, daemon=True).start()
while not over.is_set():
    time.sleep(0.005)
    call()
print(json.dumps({"calls": calls, "worst_ms": worst * 1000}))
"""


@dataclass(frozen=True)
class Report:
    """Calls made, and how long the slowest of their hooks took in milliseconds."""

    calls: int
    worst_ms: float


class LiveRecorder:
    """Records into the telemetry home of the environment from `with` to the end of its block.

    It has made its first call when the block begins; ``report`` is there after the block.
    """

    report: Report

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        try:
            assert self._process.stdout.readline() == "ready\n"
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            out, _ = self._process.communicate(timeout=60)
        except BaseException:
            self._process.kill()
            raise
        self.report = Report(**json.loads(out))
