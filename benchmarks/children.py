"""The end of waiting: no benchmark waits for a process or a thread without a limit."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIMIT_S = 120.0
"""Many times what anything here takes that says no other limit."""

_OURS = "telemetry-"
"""How the names of a recorder's threads begin."""


@contextmanager
def limited(process: subprocess.Popen[Any], what: str, seconds: float = LIMIT_S) -> Iterator[None]:
    """In the block this process waits for that one, which is killed if the block takes longer, or
    fails: then whatever waits for it goes on. Raises SystemExit, which says what hung.
    """
    hung = threading.Event()

    def end() -> None:
        hung.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException:
        process.kill()
        if not hung.is_set():
            raise
    finally:
        timer.cancel()
    if hung.is_set():
        raise SystemExit(f"{what} hung: killed after {seconds:g} s")


def run(
    words: Sequence[str | Path], what: str, limit_s: float = LIMIT_S, **options: Any
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run`, its output as text; ``what`` is what hung if it takes too long."""
    with (
        subprocess.Popen(words, text=True, **options) as process,
        limited(process, what, limit_s),
    ):
        out, err = process.communicate()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def settle() -> None:
    """Wait for what recorders of this process do beside their hooks.

    Their threads are not joined: one that another thread is just starting cannot be.
    """
    until = time.monotonic() + LIMIT_S
    while busy := [each.name for each in threading.enumerate() if each.name.startswith(_OURS)]:
        if time.monotonic() > until:
            raise SystemExit(f"{', '.join(busy)} hung: still at work after {LIMIT_S:g} s")
        time.sleep(0.001)


def own_memory_bytes(process: int | str = "self") -> int:
    """Memory that a process alone has, without files that it has mapped; 0 where the system does
    not say.
    """
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    (anonymous,) = (line.split()[1] for line in lines if line.startswith("Anonymous:"))
    return int(anonymous) * 1024
