"""Another process holds the ledger for a minute: no hook waits long, and no record is lost.

Time is the test's own: it moves when the recorder sleeps and between two hooks. The locks are
real.
"""

import re
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.recorder import Recorder
from support.hook_payloads import answered, tool_done
from support.ledger_facts import (
    api_request_ids,
    faults,
    marked_batches,
    tool_call_ids,
    waiting_files,
)
from support.locks import exclusive_mode_elsewhere, write_transaction_elsewhere
from support.processes import fork, run
from support.stopped_clock import StoppedClock

HOOKS = 200
BETWEEN_S = 0.3  # 200 hooks a minute

DIES_BEFORE_THE_COMMIT = """
import os, signal, sys
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import connection
from support.hook_payloads import tool_done

def mark_and_die(*arguments, **fields):
    mark_batch(*arguments, **fields)
    os.kill(os.getpid(), signal.SIGKILL)

mark_batch, connection.mark_batch = connection.mark_batch, mark_and_die
Recorder().hooks()["post_tool_call"](**tool_done("never", 1))
"""

DIES_AFTER_THE_COMMIT = """
import os, signal, sys
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.spill import Spill
from support.hook_payloads import tool_done

Spill.discard = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
Recorder().hooks()["post_tool_call"](**tool_done("never", 1))
"""


class Host:
    """A recorder's process, in which only sleeping and the pauses between hooks take time."""

    def __init__(self, home: Path) -> None:
        self._time = StoppedClock()
        self._hooks = Recorder(home, clock=self._time.clock).hooks()

    def answered(self, number: int) -> float:
        return self._took("post_api_request", answered("s", number))

    def tool_done(self, number: int) -> float:
        return self._took("post_tool_call", tool_done("s", number))

    def _took(self, hook: str, payload: dict[str, Any]) -> float:
        """Seconds that the hook kept the host waiting."""
        self._time.advance(BETWEEN_S)
        before = self._time.seconds
        self._hooks[hook](**payload)
        return self._time.seconds - before


def record(host: Host) -> list[float]:
    """Two hundred hooks in turn; what each took."""
    return [
        host.tool_done(number) if number % 2 else host.answered(number) for number in range(HOOKS)
    ]


def calls_recorded() -> list[str]:
    return sorted(answered("s", number)["api_request_id"] for number in range(0, HOOKS, 2))


def tools_recorded(*more: str) -> list[str]:
    recorded = [tool_done("s", number)["tool_call_id"] for number in range(1, HOOKS, 2)]
    return sorted([*recorded, *more])


def make_ledger(home: Path) -> None:
    """A ledger with one tool row, made by a process that is gone."""
    assert fork(lambda: Recorder(home).hooks()["post_tool_call"](**tool_done("before", 1))) == 0


def met_before(home: Path) -> Host:
    """A recorder that has written before the file is locked."""
    host = Host(home)
    host.tool_done(HOOKS + 1)
    return host


@pytest.mark.parametrize(
    ("held", "first_met", "before"),
    [
        pytest.param(
            write_transaction_elsewhere, met_before, ["s/201"], id="while a recorder is at work"
        ),
        pytest.param(write_transaction_elsewhere, Host, [], id="before a recorder starts"),
        pytest.param(exclusive_mode_elsewhere, Host, [], id="whole, before a recorder starts"),
    ],
)
def test_no_hook_waits_long_for_a_locked_ledger_and_every_row_comes_in_once(
    held: Callable[[Path], AbstractContextManager[None]],
    first_met: Callable[[Path], Host],
    before: list[str],
    home: Path,
    path: Path,
) -> None:
    make_ledger(home)
    host = first_met(home)
    with held(path):
        took = record(host)

    assert max(took) <= 1
    # The first hook has found out; it waited as long as it may.
    assert took[0] > 0.5
    assert percentile(99, took[1:]) <= 0.05
    assert host.tool_done(HOOKS + 3) <= 1
    assert api_request_ids(path) == calls_recorded()
    assert tool_call_ids(path) == tools_recorded(*before, "before/1", "s/203")
    assert waiting_files(path) == []
    assert faults(path) == []


def test_a_recorder_whose_ledger_is_free_again_waits_as_long_as_before(
    home: Path, path: Path
) -> None:
    host = met_before(home)
    for _ in range(2):
        with write_transaction_elsewhere(path):
            assert host.tool_done(1) > 0.5
            assert host.tool_done(2) <= 0.05
        host.tool_done(3)
    assert tool_call_ids(path) == ["s/1", "s/1", "s/2", "s/2", "s/201", "s/3", "s/3"]


@pytest.mark.parametrize(
    ("program", "in_the_ledger"),
    [
        pytest.param(DIES_BEFORE_THE_COMMIT, 0, id="before the commit"),
        pytest.param(DIES_AFTER_THE_COMMIT, HOOKS // 2, id="after the commit"),
    ],
)
def test_killed_while_a_batch_comes_in_each_row_is_there_once(
    program: str, in_the_ledger: int, home: Path, path: Path
) -> None:
    make_ledger(home)
    with write_transaction_elsewhere(path):
        assert fork(lambda: record(Host(home))) == 0

    assert run(program) == -signal.SIGKILL

    assert len(api_request_ids(path)) == in_the_ledger
    [batch] = waiting_files(path)
    assert re.fullmatch(r"telemetry\.spill\..+\.ndjson", batch)
    Host(home).tool_done(HOOKS + 1)
    assert api_request_ids(path) == calls_recorded()
    assert tool_call_ids(path) == tools_recorded("before/1", "s/201")
    assert marked_batches(path) == 1
    assert waiting_files(path) == []
    assert faults(path) == []


def percentile(share: int, values: list[float]) -> float:
    return sorted(values)[len(values) * share // 100]
