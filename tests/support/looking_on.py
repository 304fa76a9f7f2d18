"""A process that looks on by running totals, in a month of the test's own."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime

from hermes_telemetry.store.totals import REFRESH_S, Totals
from hermes_telemetry.windows import Clock
from support.ledger import HandMadeLedger
from support.threads import wait_for_threads

TODAY = date(2026, 7, 1)
JULY_31 = date(2026, 7, 31)
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Watch:
    """A clock that only the test moves, its monotonic time and its date apart."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.moment = NOON
        self.clock = Clock(
            now=lambda: self.moment, monotonic=lambda: self.seconds, sleep=time.sleep
        )


def spent(totals: Totals, scope: str = "global", scope_id: str = "") -> float:
    return totals.spend(scope, scope_id, TODAY, JULY_31).spent


def refreshed(totals: Totals, scope: str = "global", scope_id: str = "") -> float:
    totals.expire()
    assert totals.refresh()
    return spent(totals, scope, scope_id)


def crowd(ledger: HandMadeLedger) -> None:
    """More sessions call than are remembered as the last that did."""
    for number in range(40):
        ledger.call(f"other {number}", 0.0)


def counted(totals: Totals, watch: Watch, enough: Callable[[], bool]) -> bool:
    """Whether it comes true within a minute, while threads count."""
    for _ in range(12):
        if enough():
            break
        watch.seconds += REFRESH_S
        totals.refresh()
        wait_for_threads("telemetry-totals")
    return enough()
