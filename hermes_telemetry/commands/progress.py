"""How far a long command has come, on one line of a terminal; nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_SECONDS_BETWEEN = 0.2


class Progress:
    """`with Progress(total, "calls") as progress: progress(done)`, as often as one likes."""

    def __init__(self, total: int, noun: str) -> None:
        self._total, self._noun, self._to = total, noun, sys.stderr
        self._shown = self._to.isatty()
        self._next = time.monotonic() + _SECONDS_BETWEEN

    def __call__(self, done: int) -> None:
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _SECONDS_BETWEEN
            share = done * 100 // self._total
            self._to.write(f"\r{share:3} %  {done:,} of {self._total:,} {self._noun}")
            self._to.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown:
            self._to.write("\r\x1b[K")
            self._to.flush()
