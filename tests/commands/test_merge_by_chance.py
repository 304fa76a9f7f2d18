"""Machines that record, are copied and go on, merged at random: at last each call is there once."""

import random
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from hermes_telemetry.store import merging
from hermes_telemetry.store.run_totals import differences
from support.hosts import dump, new_host, rows
from support.ledger import HandMadeLedger

# Few names and times, so that machines have them in common by accident.
SESSIONS = ("cron_a_1", "cron_a_2", "chat")
TURNS = (None, "t1", "t2")


def record(host: HandMadeLedger, chance: random.Random, numbers: Iterator[int]) -> None:
    """Some calls and tool calls, each told from all others by its latency; their run says so."""
    for _ in range(chance.randrange(1, 5)):
        session, turn = chance.choice(SESSIONS), chance.choice(TURNS)
        at = f"2026-07-01T0{chance.randrange(3)}:00:0{chance.randrange(3)}"
        if not rows(host.path, "select 1 from runs where session_id = ?", session):
            host.run(session, at, api_calls=0, tool_calls=0, tokens_in=0, cost_usd=0)
        if chance.random() < 0.3:
            host.tool(session, "terminal", at, turn, latency_ms=next(numbers))
            host.change("update runs set tool_calls = tool_calls + 1 where session_id = ?", session)
            continue
        usd = chance.choice((0.5, 0.25, None))
        host.call(session, usd, at, turn, tokens_in=1, latency_ms=next(numbers))
        host.change(
            "update runs set api_calls = api_calls + 1, tokens_in = tokens_in + 1,"
            " cost_usd = cost_usd + ? where session_id = ?",
            *(usd or 0, session),
        )


def sessions(path: Path) -> list[set[int]]:
    """The calls and tool calls of each session."""
    found = defaultdict(list)
    for table in ("llm_calls", "tool_calls"):
        for session, number in rows(path, f"select session_id, latency_ms from {table}"):
            found[session].append(number)
    assert all(len(set(numbers)) == len(numbers) for numbers in found.values())
    return [set(numbers) for numbers in found.values()]


def joined(found: Iterable[set[int]]) -> list[set[int]]:
    """Sessions of one machine and of its copies are one if they have a call in common."""
    apart: list[set[int]] = []
    for session in found:
        same = [each for each in apart if each & session]
        apart = [each for each in apart if not each & session] + [session.union(*same)]
    return sorted(apart, key=min)


@pytest.mark.parametrize("seed", range(8))
def test_every_call_of_every_machine_is_there_once(tmp_path: Path, seed: int) -> None:
    chance, numbers = random.Random(seed), count(1)
    machines: list[HandMadeLedger] = []
    merged: list[Path] = []
    for step in range(14):
        what = chance.choice(("new", "record", "record", "copy", "merge", "merge"))
        if what == "new" or not machines:
            machines.append(new_host(tmp_path / f"machine-{step}.db"))
        elif what == "copy":
            path = tmp_path / f"machine-{step}.db"
            shutil.copy(chance.choice(machines).path, path)
            machines.append(HandMadeLedger(path))
        elif what == "merge":
            # Into a new file or one that is there, of machines and of other merged files.
            out = chance.choice([*merged, tmp_path / f"merged-{step}.db"])
            sources = [path for path in (*(each.path for each in machines), *merged) if path != out]
            merging.merge(out, chance.sample(sources, chance.randrange(1, len(sources) + 1)))
            merged = list(dict.fromkeys([*merged, out]))
        record(chance.choice(machines), chance, numbers)

    out = tmp_path / "all.db"
    merging.merge(out, chance.sample([each.path for each in machines], len(machines)))
    assert sorted(sessions(out), key=min) == joined(
        session for each in machines for session in sessions(each.path)
    )
    before = dump(out)
    merging.merge(out, [*merged, *(each.path for each in reversed(machines))])
    assert [line for line in dump(out) if "merged_" not in line] == [
        line for line in before if "merged_" not in line
    ]
    for path in (out, *merged):
        with closing(sqlite3.connect(path)) as connection:
            assert list(differences(connection)) == []
        tools = "select session_id, count(*) from tool_calls group by 1 order by 1"
        told = "select session_id, tool_calls from runs where tool_calls > 0 order by 1"
        assert rows(path, told) == rows(path, tools)
    for each in machines:
        each.close()
