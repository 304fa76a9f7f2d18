"""Queries against plain Python over the same rows, on ledgers filled by chance."""

import random
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from hermes_telemetry.windows import day_start_utc
from support.ledger import HandMadeLedger
from support.random_ledger import scatter

ZONE = "Europe/Madrid"


@dataclass
class Plain:
    """The rows of a ledger, and its trees walked step by step."""

    calls: list[tuple[str, str, str | None, float | None]]
    parents: dict[str, str]
    runs: dict[str, tuple[str | None, str | None]]
    children: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def root(self, session: str) -> str | None:
        """The top of a session's tree; None when the way up leads into a cycle."""
        seen = {session}
        while session in self.parents:
            session = self.parents[session]
            if session in seen:
                return None
            seen.add(session)
        return session

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
        return own or (self.runs.get(root, (None, None))[place] if root else None) or None


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


@pytest.fixture(params=range(4))
def filled(request: pytest.FixtureRequest, ledger: HandMadeLedger) -> HandMadeLedger:
    scatter(ledger, random.Random(request.param))
    return ledger


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
    start = day_start_utc("2026-06-10", ZONE)
    turns: dict[tuple[str | None, str], list[float | None]] = defaultdict(list)
    for session, ts, turn, cost in read(filled).calls:
        if ts >= start:
            turns[turn, session].append(cost)
    assert set(
        filled.ask("cost_per_turn", "turn_id session_id cost_usd calls", ZONE, since="2026-06-10")
    ) == {(*key, total(costs), len(costs)) for key, costs in turns.items()}


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


def test_a_tree_adds_up_below_every_session(filled: HandMadeLedger) -> None:
    plain = read(filled)
    for session in {call[0] for call in plain.calls}:
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
    for turn, session, delegated in filled.ask(
        "cost_per_turn", "turn_id session_id delegated_usd", since="all"
    ):
        members: set[str] = set()
        for parent_turn, parent, child in started:
            if turn is not None and parent_turn == turn and child != parent:
                members |= plain.tree(child, without=parent)
        assert delegated == total([call[3] for call in plain.calls if call[0] in members]), (
            turn,
            session,
        )
