"""Queries against plain Python over the same rows, on ledgers filled by chance."""

import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from hermes_telemetry.store import run_totals
from hermes_telemetry.windows import day_start_utc
from support.ledger import HandMadeLedger
from support.lineage import root_of

ZONE = "Europe/Madrid"
PROFILES = ("", "work", "home")


Call = tuple[str, str, str | None, float | None]
"""Session, time, turn, cost."""


@dataclass
class Plain:
    """The rows of a ledger, and its trees walked step by step."""

    calls: list[Call]
    parents: dict[str, str]
    runs: dict[str, tuple[str | None, str | None]]
    children: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def root(self, session: str) -> str | None:
        """The top of a session's tree; None when the way up leads into a cycle."""
        return root_of(session, self.parents)

    def tree(self, session: str, without: str | None = None) -> set[str]:
        """A session and all below it; the walk does not pass through ``without``."""
        found = {session}
        waiting = [session]
        while waiting:
            for child in self.children[waiting.pop()]:
                if child not in found and child != without:
                    found.add(child)
                    waiting.append(child)
        return found

    def trait(self, session: str, place: int) -> str | None:
        """A session's own cron job (0) or profile (1), else its root's."""
        own = self.runs.get(session, (None, None))[place]
        root = self.root(session)
        roots = None if root is None else self.runs.get(root, (None, None))[place]
        return own or roots or None

    def costs(self, sessions: set[str], profile: str) -> list[float | None]:
        """Of each call of these sessions that is of the profile; '' is every profile."""
        return [
            cost
            for session, _, _, cost in self.calls
            if session in sessions and profile in ("", self.trait(session, 1))
        ]


def read(ledger: HandMadeLedger) -> Plain:
    with closing(sqlite3.connect(ledger.path)) as connection:
        plain = Plain(
            calls=connection.execute(
                "select session_id, ts, nullif(turn_id, ''), cost_usd from llm_calls"
            ).fetchall(),
            parents=dict(
                connection.execute("select child_session_id, parent_session_id from subagent_edges")
            ),
            runs={
                session: (job, profile)
                for session, job, profile in connection.execute(
                    "select session_id, cron_job_id, profile from runs"
                )
            },
        )
    for child, parent in plain.parents.items():
        plain.children[parent].append(child)
    return plain


def total(costs: list[float | None]) -> float | None:
    """None when nothing is priced."""
    priced = [cost for cost in costs if cost is not None]
    return sum(priced) if priced else None


def test_days_add_up_to_all_calls(filled: HandMadeLedger) -> None:
    by_day: dict[str, list[float | None]] = defaultdict(list)
    for _, ts, _, cost in read(filled).calls:
        by_day[str(datetime.fromisoformat(ts).astimezone(ZoneInfo(ZONE)).date())].append(cost)
    assert filled.ask("cost_by_day", "day cost_usd calls", ZONE, since="all") == [
        (day, total(costs), len(costs)) for day, costs in sorted(by_day.items(), reverse=True)
    ]


def test_a_profile_is_that_of_the_session_else_of_its_root(filled: HandMadeLedger) -> None:
    plain = read(filled)
    for profile in ("work", "home"):
        costs = [call[3] for call in plain.calls if plain.trait(call[0], 1) == profile]
        assert sum(
            calls
            for _, calls in filled.ask("cost_by_day", "day calls", since="all", profile=profile)
        ) == len(costs)


def test_turns_add_up_to_the_calls_of_the_window(filled: HandMadeLedger) -> None:
    plain = read(filled)
    start = day_start_utc("2026-06-10", ZONE)
    columns = "turn_id session_id cost_usd calls"
    for profile in PROFILES:
        turns: dict[tuple[str | None, str | None], list[Call]] = defaultdict(list)
        for call in plain.calls:
            if call[1] >= start and profile in ("", plain.trait(call[0], 1)):
                turns[call[2], None if call[2] else call[0]].append(call)
        rows = filled.ask("cost_per_turn", columns, ZONE, since="2026-06-10", profile=profile)
        assert len(rows) == len(turns)
        assert set(rows) == {
            (
                turn,
                min(calls, key=lambda call: call[1])[0],
                total([call[3] for call in calls]),
                len(calls),
            )
            for (turn, _), calls in turns.items()
        }


def test_jobs_pay_for_their_own_sessions_and_for_those_of_their_trees(
    filled: HandMadeLedger,
) -> None:
    plain = read(filled)
    costs: dict[str, list[float | None]] = defaultdict(list)
    for session, _, _, cost in plain.calls:
        job = plain.trait(session, 0)
        if job:
            costs[job].append(cost)
    assert dict(filled.ask("cron_attribution", "cron_job_id total_usd", since="all")) == {
        job: total(spent) for job, spent in costs.items()
    }


def test_a_run_pays_for_what_no_other_run_of_a_job_pays_for(filled: HandMadeLedger) -> None:
    plain = read(filled)
    assert any(plain.root(session) is None for session in plain.parents), "no cycle"
    for profile in PROFILES:
        by_job = dict(
            filled.ask("cron_attribution", "cron_job_id total_usd", since="all", profile=profile)
        )
        for job in ("daily", "weekly"):
            runs = filled.ask("cron_runs", "session_id total_usd", cron_job_id=job, profile=profile)
            assert total([usd for _, usd in runs]) == by_job.get(job)
            for run, usd in runs:
                below = set() if run in plain.parents else plain.tree(run)
                jobless = {each for each in below if not plain.runs.get(each, (None, None))[0]}
                assert usd == total(plain.costs({run} | jobless, profile)), run


def test_reconcile_finds_the_differences_that_doctor_finds(filled: HandMadeLedger) -> None:
    with closing(sqlite3.connect(filled.path)) as connection:
        sessions = [row[0] for row in connection.execute("select session_id from runs")]
        with connection:
            for session in sessions[::2]:
                run_totals.recompute(connection, session)
        found = run_totals.differences(connection)
    assert [
        (session, difference, run_usd or 0, calls_usd or 0, run_calls or 0, calls)
        for session, difference, run_usd, calls_usd, run_calls, calls, _ in filled.ask(
            "reconcile", since="all"
        )
    ] == [
        (each.session_id, each.run_usd - each.calls_usd)
        + (each.run_usd, each.calls_usd, each.run_calls, each.calls)
        for each in found
    ]
    lost = {call[0] for call in read(filled).calls} - set(sessions)
    assert lost < {each.session_id for each in found}
    assert not set(sessions[::2]) & {each.session_id for each in found}


def test_a_tree_adds_up_below_every_session(filled: HandMadeLedger) -> None:
    plain = read(filled)
    # '' asks for no session.
    for session in {call[0] for call in plain.calls} - {""}:
        members = plain.tree(session)
        rows = filled.ask("delegation_tree", "session_id subtree_usd", session_id=session)
        assert {name for name, _ in rows} == members
        assert len(rows) == len(members)
        assert rows[0] == (session, total([call[3] for call in plain.calls if call[0] in members]))


def test_a_turn_answers_for_the_trees_it_started(filled: HandMadeLedger) -> None:
    plain = read(filled)
    with closing(sqlite3.connect(filled.path)) as connection:
        started = connection.execute(
            "select parent_turn_id, parent_session_id, child_session_id from subagent_edges"
        ).fetchall()
    for profile in PROFILES:
        for turn, delegated in filled.ask(
            "cost_per_turn", "turn_id delegated_usd", since="all", profile=profile
        ):
            members: set[str] = set()
            for parent_turn, parent, child in started:
                if turn is not None and parent_turn == turn and child != parent:
                    members |= plain.tree(child, without=parent)
            assert delegated == total(plain.costs(members, profile)), turn
