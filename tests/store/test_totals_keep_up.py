"""Running totals follow the ledger: its calls, its trees, its owners and the months."""

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import pytest

from hermes_telemetry.store.edges import start_edge, stop_edge
from hermes_telemetry.store.spend import Spend
from hermes_telemetry.store.totals import RECOUNT_S, Totals
from support.ledger import HandMadeLedger, stored
from support.looking_on import NOON, TODAY, Watch, counted, crowd, refreshed, spent


def test_rows_of_the_past_count_on_their_day(ledger: HandMadeLedger, totals: Totals) -> None:
    """As they come out of the spill file, or out of a merge."""
    ledger.call("s", 1.0, "2026-07-20T12:00")
    ledger.call("s", 2.0, "2026-07-10T12:00")
    ledger.call("s", 4.0, "2026-06-30T23:59:59.999999")
    assert refreshed(totals) == 3.0
    assert totals.spend("global", "", date(2026, 7, 10), date(2026, 7, 10)).spent == 2.0


def test_a_late_edge_takes_what_was_spent_below_it_along(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    ledger.run("root", cron_job_id="nightly", profile="work")
    ledger.run("child", profile="home")
    ledger.edge("leaf", "child")
    ledger.call("leaf", 0.1)
    ledger.call("child", 0.7)
    assert refreshed(totals, "profile", "home") == 0.8
    ledger.edge("child", "root")
    # A float that 0.1 is added to and taken from is 0.7000000000000001 or so.
    assert refreshed(totals, "profile", "home") == 0.7
    assert spent(totals, "profile", "work") == 0.1
    assert spent(totals, "cron_job", "nightly") == 0.8
    # Exactly nothing is left: a limit of 0 would see the difference.
    ledger.change("replace into subagent_edges values ('child','other','','','','','',null,null)")
    assert refreshed(totals, "cron_job", "nightly") == 0.0
    assert spent(totals, "profile", "work") == 0.0


def test_an_edge_deleted_from_the_end_is_counted_out(
    ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    ledger.run("root", sender_id="ann")
    ledger.edge("child", "root")
    ledger.call("child", 1.0)
    crowd(ledger)
    assert refreshed(totals, "sender", "ann") == 1.0
    ledger.change("delete from subagent_edges")
    assert counted(totals, watch, lambda: spent(totals, "sender", "ann") == 0.0)


def test_a_start_that_its_stop_overtook_names_the_parent(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    """The stop makes the edge, with the session that the parent is in by then; the start, out of
    the spill file, changes the row that stands there.
    """
    ledger.run("before", sender_id="ann")
    ledger.run("after", sender_id="bob")
    ledger.call("child", 1.0)
    ids = {"child_session_id": "child"}
    with closing(sqlite3.connect(ledger.path)) as connection:
        with connection:
            stop_edge(connection, **ids, parent_session_id="after", ts=stored("2026-07-01T10:00"))
        ledger.edge("another", "after")
        crowd(ledger)
        assert refreshed(totals, "sender", "bob") == 1.0
        with connection:
            start_edge(connection, **ids, parent_session_id="before", ts=stored("2026-07-01T09:00"))
    assert refreshed(totals, "sender", "bob") == 0.0
    assert spent(totals, "sender", "ann") == 1.0


def test_a_sender_may_be_known_after_the_first_call(ledger: HandMadeLedger, totals: Totals) -> None:
    ledger.run("root")
    ledger.edge("child", "root")
    ledger.call("root", 1.0)
    ledger.call("child", 2.0)
    assert refreshed(totals) == 3.0
    ledger.change("update runs set sender_id = 'ann' where session_id = 'root'")
    assert refreshed(totals, "sender", "ann") == 3.0


def test_whom_silent_sessions_belong_to_follows_their_tree(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    """However many others called since: by an edge, by its loss, by what the root learned."""
    ledger.run("root", sender_id="ann")
    ledger.run("late")
    ledger.edge("leaf", "child")
    ledger.call("leaf", 1.0)
    ledger.call("child", 2.0)
    crowd(ledger)
    assert refreshed(totals) == 3.0
    ledger.edge("child", "root")
    crowd(ledger)
    assert refreshed(totals, "sender", "ann") == 3.0
    assert totals.load()
    # Its rowid is given again.
    ledger.change("delete from subagent_edges where child_session_id = 'child'")
    ledger.edge("another", "root")
    crowd(ledger)
    assert refreshed(totals, "sender", "ann") == 0.0
    ledger.edge("child", "late")
    crowd(ledger)
    assert refreshed(totals, "sender", "bob") == 0.0
    ledger.change("update runs set sender_id = 'bob' where session_id = 'late'")
    ledger.call("late", 4.0)
    crowd(ledger)
    assert refreshed(totals, "sender", "bob") == 7.0


def test_the_owners_of_a_session_are_asked_for_each_time(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    assert totals.scopes_of("child") == {"global": ""}
    ledger.run("root", cron_job_id="nightly", sender_id="")
    ledger.edge("child", "root")
    assert totals.scopes_of("child") == {"global": "", "cron_job": "nightly"}
    ledger.change("update runs set sender_id = 'ann', profile = 'work'")
    assert totals.scopes_of("child") == {
        "global": "",
        "cron_job": "nightly",
        "sender": "ann",
        "profile": "work",
    }


def test_a_silent_session_is_the_owners_that_were_asked_for(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    ledger.run("silent")
    ledger.call("silent", 1.0)
    assert refreshed(totals) == 1.0
    crowd(ledger)
    assert refreshed(totals) == 1.0
    ledger.change("update runs set sender_id = 'ann' where session_id = 'silent'")
    assert totals.scopes_of("silent") == {"global": "", "sender": "ann"}
    assert spent(totals, "sender", "ann") == 1.0


def test_what_a_root_is_asked_for_holds_for_its_tree(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    ledger.run("root")
    ledger.edge("child", "root")
    ledger.call("root", 1.0)
    ledger.call("child", 2.0)
    crowd(ledger)
    assert refreshed(totals) == 3.0
    ledger.change("update runs set sender_id = 'ann' where session_id = 'root'")
    totals.scopes_of("root")
    assert spent(totals, "sender", "ann") == 3.0


def test_calls_deleted_from_the_end_are_counted_out(
    ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    ledger.call("s", 1.0)
    ledger.call("s", 2.0)
    assert refreshed(totals) == 3.0
    ledger.change("delete from llm_calls where cost_usd = 2")
    totals.expire()
    assert totals.refresh()
    assert counted(totals, watch, lambda: spent(totals) == 1.0)


def test_what_leaves_no_trace_is_counted_within_ten_minutes(
    ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    for usd in (1.0, None, 4.0):
        ledger.call("s", usd)
    assert refreshed(totals) == 5.0
    ledger.change("delete from llm_calls where cost_usd = 1")
    ledger.change("update llm_calls set cost_usd = 2 where cost_usd is null")
    assert refreshed(totals) == 5.0
    watch.seconds += RECOUNT_S
    assert totals.refresh()
    assert counted(
        totals, watch, lambda: totals.spend("global", "", TODAY, TODAY) == Spend(6, 6, 2)
    )


def test_who_called_before_the_totals_were_counted_is_looked_at_too(
    ledger: HandMadeLedger, watch: Watch
) -> None:
    ledger.run("s")
    ledger.call("s", 1.0)
    totals = Totals(ledger.path, "UTC", watch.clock)
    assert totals.load()
    ledger.change("update runs set sender_id = 'ann'")
    assert refreshed(totals, "sender", "ann") == 1.0


def test_days_of_another_month_are_not_told(totals: Totals) -> None:
    assert totals.spend("global", "", TODAY, date(2026, 8, 31)) == Spend()
    for first, last in [(date(2026, 6, 30), TODAY), (TODAY, date(2026, 9, 1))]:
        with pytest.raises(LookupError):
            totals.spend("global", "", first, last)


def test_the_month_rolls_over_by_itself(
    ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    ledger.call("s", 1.0, "2026-07-31T23:59:59.999999")
    # Another machine's clock is ahead.
    ledger.call("s", 2.0, "2026-08-01T00:00")
    assert refreshed(totals) == 1.0
    watch.moment = datetime(2026, 8, 1, tzinfo=UTC)
    first, last = date(2026, 8, 1), date(2026, 8, 31)
    assert totals.spend("global", "", first, last).spent == 2.0
    ledger.call("s", 4.0, "2026-08-31T12:00")
    totals.expire()
    assert totals.refresh()
    assert totals.spend("global", "", first, last).spent == 6.0


@pytest.mark.parametrize("now", [datetime(2026, 9, 1, tzinfo=UTC), NOON - timedelta(days=1)])
def test_a_month_that_was_never_counted_is_not_known_until_it_is(
    now: datetime, ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    """The machine slept for two months, or its clock was set back."""
    ledger.call("s", 1.0, now.isoformat())
    watch.moment = now
    totals.expire()
    assert not totals.refresh()
    assert counted(totals, watch, lambda: totals.is_known)
    assert totals.spend("global", "", now.date(), now.date()).spent == 1.0
