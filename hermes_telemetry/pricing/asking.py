"""Questions to what may be slow, the host or a package: each is asked once, on a thread, and its
answer is waited for during a bounded time.

The thread is started when a request to a model begins. The hook that records the call waits a tenth
of a second for the answer at most.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..windows import Clock

logger = logging.getLogger(__name__)

SECONDS_WAITED = 0.1
_POLL_S = 0.001

Key = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Question:
    """``answered`` is False while the thread is at work on it. It becomes True without an answer,
    too: what was found stands in the fields of a subclass.
    """

    answered: bool = False
    wait_until: float | None = None


Q = TypeVar("Q", bound=Question)


class Questions(Generic[Q]):
    """The newest ``most`` questions of one kind, each asked on a thread of that name.

    Safe to use from any thread. ``wait`` is how many seconds `wait_for` may take, counted from the
    first call that waits for a question: one question costs no session more than that.
    """

    def __init__(self, thread: str, most: int, clock: Clock, wait: float) -> None:
        self._thread = thread
        self._most = most
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._asked: dict[Key, Q] = {}

    def get(self, key: Key) -> Q | None:
        """The question, if it was asked."""
        return self._asked.get(key)

    def ask(
        self,
        key: Key,
        new: Callable[[Q | None], Q],
        find: Callable[[Q], None],
        holds: Callable[[Q], bool] = lambda question: True,
    ) -> Q:
        """The question of a key. Returns at once.

        If it was not asked yet, or no longer ``holds``, a thread is started that calls ``find``
        with the one that ``new`` makes of the former one (None if there is none).
        """
        question = self._asked.get(key)
        if question is not None and holds(question):
            return question
        with self._lock:
            question = self._asked.get(key)
            if question is not None and holds(question):
                return question
            if len(self._asked) >= self._most:
                # The oldest: the dictionary keeps the order of asking.
                del self._asked[next(iter(self._asked))]
            self._asked.pop(key, None)
            asked = self._asked[key] = new(question)
        try:
            threading.Thread(
                target=self._answer, args=(asked, find, key), name=self._thread, daemon=True
            ).start()
        except RuntimeError:  # the interpreter is going down
            asked.answered = True
        return asked

    def wait_for(self, question: Q, waited: float = 0.0) -> None:
        """Returns when the question is answered or the time is over. ``waited`` seconds were spent
        already of what a call may wait.
        """
        if question.answered:
            return
        if question.wait_until is None:
            question.wait_until = self._clock.monotonic() + self._wait - waited
        while not question.answered and self._clock.monotonic() < question.wait_until:
            self._clock.sleep(_POLL_S)

    def _answer(self, question: Q, find: Callable[[Q], None], key: Key) -> None:
        try:
            find(question)
        except Exception as fault:
            logger.debug("%s: no answer for %r: %s", self._thread, key, type(fault).__name__)
        finally:
            # Last, for who sees it takes what is there for the answer, a miss too.
            question.answered = True
