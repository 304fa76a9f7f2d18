"""A fork waits for threads that are inside SQLite, whose locks a child would inherit."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hermes_telemetry.store import forks
from hermes_telemetry.store.forks import held_off
from hermes_telemetry.store.totals import Totals
from support.ledger import HandMadeLedger
from support.looking_on import Watch
from support.processes import Fork, fork
from support.threads import wait_for_threads

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

FORKS = 80
"""Without waiting, one child in ten hung: that none of so many does has a chance of 1 in 4,000."""


@contextmanager
def elsewhere_inside() -> Iterator[threading.Event]:
    """Another thread is inside until the event is set."""
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with held_off:
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=stay)
    thread.start()
    assert entered.wait(30)
    try:
        yield leave
    finally:
        leave.set()
        thread.join(30)


def test_children_forked_amid_a_count_count_for_themselves(
    ledger: HandMadeLedger, watch: Watch
) -> None:
    for number in range(300):
        ledger.call(f"s{number}", 1.0)
    for number in range(FORKS):
        totals = Totals(ledger.path, "UTC", watch.clock)
        totals.refresh()  # starts to count on a thread
        time.sleep(number % 20 * 0.0001)
        child = Fork(lambda totals=totals: _count(totals))
        assert child.end() == 0
        wait_for_threads("telemetry-totals")


def _count(totals: Totals) -> None:
    assert totals.load()
    assert totals.scopes_of("s1") == {"global": ""}


def test_a_fork_waits_for_the_thread_that_is_inside() -> None:
    with elsewhere_inside() as leave:
        threading.Timer(0.1, leave.set).start()
        assert fork(lambda: None) == 0
        assert leave.is_set()


def test_who_comes_while_a_fork_waits_waits_for_the_fork() -> None:
    happened = []

    def come_in() -> None:
        with held_off:
            happened.append("in")

    def part() -> None:
        assert fork(lambda: None) == 0
        happened.append("forked")

    with elsewhere_inside() as leave:
        forking = threading.Thread(target=part)
        forking.start()
        while not forks._forking:
            time.sleep(0.001)
        coming = threading.Thread(target=come_in)
        coming.start()
        coming.join(0.05)
        assert happened == []
        leave.set()
        forking.join(30)
        coming.join(30)
    assert sorted(happened) == ["forked", "in"]


def test_one_that_stays_inside_keeps_no_host_from_forking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "PATIENCE_S", 0.05)
    with elsewhere_inside() as leave:
        assert fork(_come_in) == 0  # and the child waits for nobody
        assert not leave.is_set()


def test_who_forks_inside_waits_for_nobody() -> None:
    with held_off, held_off:
        assert fork(_come_in) == 0
    assert forks._inside == []


def _come_in() -> None:
    with held_off:
        assert forks._inside.count(threading.get_ident()) >= 1


def test_who_forks_may_close_a_connection_under_way() -> None:
    """As the garbage that is collected in another's preparation for the fork does."""
    left_alone = []

    def prepare() -> None:
        with held_off:
            left_alone.append(threading.get_ident())

    def forking() -> None:
        forks._wait_for_others()
        prepare()
        forks._let_go_in_parent()

    thread = threading.Thread(target=forking, daemon=True)
    thread.start()
    thread.join(30)
    assert left_alone == [thread.ident]
