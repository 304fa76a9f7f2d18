"""`kill -9` at random moments under four writing processes: nothing acknowledged is lost."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, pricing_path
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import connection
from support.hook_payloads import PRICES, answered, tool_done
from support.ledger_facts import (
    api_request_ids,
    ask_ledger,
    faults,
    marked_batches,
    tool_call_ids,
    waiting_files,
)
from support.processes import Fork, fork

PROCESSES = 4
LEDGERS, ROUNDS = 5, 5  # of each kind: fifty rounds

HASTY_S = 0.0
"""A deadline that whoever finds the ledger locked has missed already."""


class Writer:
    """A process that records calls of its own session and tells which are through."""

    def __init__(self, session: str, fork: Fork, pipe: int) -> None:
        self.session = session
        self._fork = fork
        self._pipe = pipe
        self.acknowledged = 0

    def kill_after(self, hooks: int) -> None:
        """Kill it some moment after so many hooks have returned."""
        while self.acknowledged < hooks:
            self._listen()
        time.sleep(random.uniform(0, 0.003))
        self._fork.kill()
        while self._listen():
            pass
        os.close(self._pipe)

    def _listen(self) -> int:
        told = len(os.read(self._pipe, 65536))
        assert told or self._fork.end() == -signal.SIGKILL, "it ended by itself"
        self.acknowledged += told
        return told


def start_writer(home: Path, session: str, deadline_s: float) -> Writer:
    reading, writing = os.pipe()

    def record_until_killed() -> None:
        connection.HOOK_DEADLINE_S = deadline_s
        connection.TRIPPED_DEADLINE_S = min(deadline_s, connection.TRIPPED_DEADLINE_S)
        hooks = Recorder(home).hooks()
        number = 0
        while True:
            # Calls and tool calls alternate: only the latter would show a record twice.
            if number % 2:
                hooks["post_tool_call"](**tool_done(session, number))
            else:
                hooks["post_api_request"](**answered(session, number))
            os.write(writing, b".")
            number += 1

    forked = Fork(record_until_killed)
    os.close(writing)
    return Writer(session, forked, reading)


def write_once_more(home: Path) -> None:
    """Let a healthy process record until nothing waits any more."""

    def record() -> None:
        hooks = Recorder(home).hooks()
        for number in range(50):
            hooks["post_tool_call"](**tool_done("afterwards", number))
            if not waiting_files(database_path(home)):
                break

    assert fork(record) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "deadline_s",
    [
        pytest.param(connection.HOOK_DEADLINE_S, id="writing to the ledger"),
        pytest.param(HASTY_S, id="writing to ledger and spill file"),
    ],
)
def test_killed_at_random_moments_every_acknowledged_call_is_there_once(
    deadline_s: float, tmp_path: Path
) -> None:
    batches = 0
    for ledger in range(LEDGERS):
        home = tmp_path / f"ledger-{ledger}"
        home.mkdir()
        pricing_path(home).write_text(PRICES, encoding="utf-8")
        path = database_path(home)
        # The first round finds no file: its writers are killed while they make one, too.
        for number in range(ROUNDS):
            writers = [
                start_writer(home, f"round {number}, process {process}", deadline_s)
                for process in range(PROCESSES)
            ]
            for writer in random.sample(writers, PROCESSES):
                writer.kill_after(hooks=random.randrange(2 if number == 0 else 40))
            if has_calls(path):
                assert faults(path) == []

            write_once_more(home)

            assert faults(path) == []
            assert waiting_files(path) == []
            for writer in writers:
                assert_all_there_once(path, writer)
        batches += marked_batches(path)
    if deadline_s == HASTY_S:
        assert batches > LEDGERS, "the spill file was hardly used: this test has shown nothing"


def has_calls(path: Path) -> bool:
    if not path.exists():
        return False
    tables = ask_ledger(
        path, "select name from sqlite_master where name = 'endpoint_payload_cache'"
    )
    return bool(tables)


def assert_all_there_once(path: Path, writer: Writer) -> None:
    def expected(hooks: int) -> tuple[list[str], list[str]]:
        calls = [answered(writer.session, number) for number in range(0, hooks, 2)]
        tools = [tool_done(writer.session, number) for number in range(1, hooks, 2)]
        return (
            sorted(call["api_request_id"] for call in calls),
            sorted(tool["tool_call_id"] for tool in tools),
        )

    found = (
        [name for name in api_request_ids(path) if name.startswith(writer.session + ":")],
        [name for name in tool_call_ids(path) if name.startswith(writer.session + "/")],
    )
    # The one in flight may have reached the disk before its process could say so.
    assert found in (expected(writer.acknowledged), expected(writer.acknowledged + 1)), (
        writer.session
    )
