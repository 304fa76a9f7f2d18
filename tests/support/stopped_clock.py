"""A clock that only the test moves."""

from datetime import UTC, datetime, timedelta

from hermes_telemetry.windows import Clock


class StoppedClock:
    """Stands at 2026-07-01 12:00 UTC; ``sleep`` moves it on and returns at once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.clock = Clock(
            now=lambda: datetime(2026, 7, 1, 12, tzinfo=UTC) + timedelta(seconds=self.seconds),
            monotonic=lambda: self.seconds,
            sleep=self.advance,
        )

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
