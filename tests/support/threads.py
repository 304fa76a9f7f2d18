"""Waiting for what a recorder does beside its hooks."""

import threading
import time

PATIENCE_S = 60.0


def wait_for_threads(name: str = "telemetry-") -> None:
    """Until no thread whose name begins so is left.

    They are not joined: one that another thread is just starting cannot be.
    """
    deadline = time.monotonic() + PATIENCE_S
    while busy := [thread.name for thread in threading.enumerate() if thread.name.startswith(name)]:
        assert time.monotonic() < deadline, f"still at work: {', '.join(busy)}"
        time.sleep(0.001)
