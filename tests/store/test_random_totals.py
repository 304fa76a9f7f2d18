"""Whatever happens to a ledger, running totals are a plain sum over its rows."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_telemetry.store.spend import Spend
from hermes_telemetry.store.totals import RECOUNT_S, REFRESH_S, Totals
from hermes_telemetry.windows import Clock, local_day, next_month, timestamp
from support.ledger import HandMadeLedger
from support.plain_spend import on_days, plain_spend
from support.threads import wait_for_threads

ZONE = "Europe/Madrid"
BEGIN = datetime(2026, 10, 23, 12, tzinfo=UTC)
"""Two days before the day of 25 hours, nine before the end of a month."""

SESSIONS = st.sampled_from(["", *"abcdefgh"])
# Sums of these are exact, in whatever order they are added.
USD = st.sampled_from([None, 0.0, 0.125, 0.25, 1.0, 3.5])
OWNERS = {
    ("global", ""),
    *(("cron_job", job) for job in ("daily", "weekly")),
    *(("sender", name) for name in ("ann", "bob")),
    *(("profile", name) for name in ("work", "home")),
}
TRAITS = st.fixed_dictionaries(
    {
        "cron_job_id": st.sampled_from([None, "", "daily", "weekly"]),
        "sender_id": st.sampled_from([None, "", "ann", "bob"]),
        "profile": st.sampled_from([None, "", "work", "home"]),
    }
)


class History:
    """A ledger that things happen to, and the totals of a process that looks on.

    In a ``crowd`` so many other sessions call that those of the events are soon forgotten.
    """

    def __init__(self, path: Path, crowd: bool) -> None:
        self.crowd = crowd
        self.now = BEGIN
        self.seconds = 0.0
        self.ledger = HandMadeLedger(path)
        clock = Clock(now=lambda: self.now, monotonic=lambda: self.seconds, sleep=lambda _: None)
        self.totals = Totals(path, ZONE, clock)
        assert self.totals.load()

    def call(self, session: str, usd: float | None, estimated: int, age: timedelta) -> None:
        """It may be of the past: out of the spill file, or merged."""
        ts = timestamp(self.now - age)
        self.ledger.call(session, usd, ts, estimated=estimated)

    def begin(self, session: str, traits: dict[str, str | None]) -> None:
        """The run, or what is learned of it after its calls: the first that is not NULL stays."""
        self.ledger.change(
            "insert or ignore into runs (session_id, started_at) values (?, ?)",
            *(session, timestamp(self.now)),
        )
        for column, value in traits.items():
            self.ledger.change(
                f"update runs set {column} = coalesce(nullif({column}, ''), ?)"
                " where session_id = ?",
                *(value, session),
            )
        if self.crowd:
            # For a session that is not among the last that called it is seen within ten minutes.
            self.seconds += RECOUNT_S

    def delegate(self, child: str, parent: str) -> None:
        """An edge that comes late, or takes the place of another."""
        self.ledger.change(
            "replace into subagent_edges (child_session_id, parent_session_id, started_at)"
            " values (?, ?, ?)",
            *(child, parent, timestamp(self.now)),
        )

    def lose_call(self) -> None:
        """The newest one, after it was counted."""
        self.look()
        self.ledger.change("delete from llm_calls where id = (select max(id) from llm_calls)")
        self.seconds += REFRESH_S

    def lose_edge(self) -> None:
        self.look()
        self.ledger.change(
            "delete from subagent_edges where rowid = (select max(rowid) from subagent_edges)"
        )
        self.seconds += REFRESH_S
        self.look()

    def prune(self, session: str, usd: float) -> None:
        """Rows vanish and others get a price: no trace of either, until ten minutes are over."""
        self.ledger.change("delete from llm_calls where session_id = ?", session)
        self.ledger.change("update llm_calls set cost_usd = ? where cost_usd is null", usd)
        self.ledger.change("delete from runs where session_id = ?", session)
        self.seconds += RECOUNT_S

    def wait(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    def look(self) -> None:
        """What the gate sees now, for every owner and for the day and the month."""
        self._refresh()
        today = local_day(self.now, ZONE)
        first, last = today.replace(day=1), next_month(today) - timedelta(days=1)
        for since, until in ((today, today), (first, last)):
            plain = plain_spend(self.ledger.path, on_days(since, until, ZONE))
            for owner in plain.keys() | OWNERS:
                spend = self.totals.spend(*owner, since, until)
                assert spend == plain.get(owner, Spend()), (owner, since, until)

    def _refresh(self) -> None:
        if self.crowd:
            for number in range(33):
                self.call(f"other {number}", 0.0, 0, timedelta())
        self.totals.expire()
        self.totals.refresh()
        wait_for_threads("telemetry-totals")
        assert self.totals.refresh()


def event(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.tuples(*arguments))


EVENTS = st.one_of(
    event(
        "call",
        SESSIONS,
        USD,
        st.sampled_from([0, 1]),
        st.timedeltas(timedelta(hours=-2), timedelta(days=30)),
    ),
    event("begin", SESSIONS, TRAITS),
    event("delegate", SESSIONS, SESSIONS),
    event("lose_call"),
    event("lose_edge"),
    event("prune", SESSIONS, st.sampled_from([0.0, 0.5])),
    event("wait", st.sampled_from([1, 11, 24, 24 * 9])),
    event("look"),
)


@settings(max_examples=30, deadline=None)
@given(events=st.lists(EVENTS, min_size=5, max_size=30))
@pytest.mark.parametrize("crowd", [False, True])
def test_totals_are_a_plain_sum_whatever_happens(
    crowd: bool, blank_ledger: Path, events: list[tuple[str, tuple[Any, ...]]]
) -> None:
    with TemporaryDirectory() as folder:
        history = History(Path(shutil.copy(blank_ledger, folder)), crowd)
        for name, arguments in events:
            getattr(history, name)(*arguments)
        history.look()
        history.ledger.close()
