"""A clock that only the test moves."""

import time
from datetime import UTC, datetime, timedelta

from hermes_telemetry.windows import Clock


class StoppedClock:
    """Stands at 2026-07-01 12:00 UTC; ``sleep`` moves it on and returns soon.

    Not at once: who waits so for a lock of another thread would have spent his patience before
    that thread had its turn. After two seconds of such rests it does: a lock that is still held is
    held on purpose.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.clock = Clock(
            now=lambda: datetime(2026, 7, 1, 12, tzinfo=UTC) + timedelta(seconds=self.seconds),
            monotonic=lambda: self.seconds,
            sleep=self._sleep,
        )
        self._may_rest_s = 2.0

    def advance(self, seconds: float) -> None:
        self.seconds += seconds

    def _sleep(self, seconds: float) -> None:
        self.advance(seconds)
        if self._may_rest_s > 0:
            rest = min(seconds, 0.0005)
            self._may_rest_s -= rest
            time.sleep(rest)
