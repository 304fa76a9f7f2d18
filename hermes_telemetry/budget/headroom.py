"""What a session may still spend before a threshold of its limits can be reached.

Looking at the totals after a call takes longer than recording it. Below every threshold it tells
nothing: until this process has spent what was left, or five seconds are over in which others may
have spent something, none can have been crossed.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from ..store.spend import TOLERANCE_USD
from ..windows import Clock
from .config import Budget

GOOD_FOR_S = 5.0
"""How long spend of other processes may go unseen, as with the totals themselves."""

_MOST_SESSIONS = 4096


class _Left(NamedTuple):
    budget: Budget
    until: float
    spent: float


class Headroom:
    """What is left to the sessions of one process, used from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, _Left] = {}
        self.spent = 0.0
        """USD that this process has spent since it began, at any session."""

    def covers(self, session_id: str, cost_usd: float | None, budget: Budget) -> bool:
        """Count a call; whether it cannot have taken its session to a threshold. One without a
        price may have.
        """
        with self._lock:
            self.spent += cost_usd or 0.0
            left = self._left.get(session_id)
        return (
            left is not None
            and cost_usd is not None
            and left.budget is budget
            and self.spent < left.spent
            and self._clock.monotonic() < left.until
        )

    def note(self, session_id: str, budget: Budget, spent: float, left: float) -> None:
        """A session at no threshold has ``left`` USD to the nearest; ``spent`` is what this process
        had spent before that was looked up.
        """
        until = self._clock.monotonic() + GOOD_FOR_S
        with self._lock:
            if len(self._left) >= _MOST_SESSIONS:
                self._left.clear()
            self._left[session_id] = _Left(budget, until, spent + left - TOLERANCE_USD)

    def forget(self) -> None:
        """Sessions may belong to others now."""
        with self._lock:
            self._left.clear()
