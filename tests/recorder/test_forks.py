"""A process that is forked in the middle of a hook: the child has none of the parent's threads."""

from pathlib import Path
from typing import Any

import pytest

from support.budgets import set_budget
from support.processes import running

PROGRAM = """
import os, signal, sys, threading

real_lock, made = threading.Lock, []

def noted_lock():
    lock = real_lock()
    if sys._getframe(1).f_globals["__name__"].startswith("hermes_telemetry"):
        made.append(lock)
    return lock

threading.Lock = noted_lock

import hermes_telemetry

class Host:
    profile_name = None

    def __init__(self):
        self.hooks = {}

    def register_hook(self, name, callback):
        self.hooks[name] = callback

    register_command = register_cli_command = lambda *_, **__: None

    def fire(self, names, turn):
        ids = {"session_id": "s", "turn_id": turn, "child_session_id": "c"}
        about = {"model": "unheard-of", "provider": "nobody", "parent_session_id": "s"}
        for name in names:
            self.hooks[name](**ids, **about, status_code=404, retryable=False)

host = Host()
hermes_telemetry.register(host)
before = sys.argv[1].split()
host.fire(before, "s:t:1")
for thread in threading.enumerate():
    if thread.name.startswith("telemetry"):
        thread.join()

for lock in made:  # as if other threads stood at all of these places
    assert lock.acquire(timeout=10)
child = os.fork()
if child == 0:
    signal.alarm(20)  # what hangs is ended
    threading.Lock = real_lock
    host.fire(host.hooks, "s:t:2")
    os._exit(0)
_, status = os.waitpid(child, 0)
print(len(made), os.waitstatus_to_exitcode(status))

for lock in made:
    lock.release()
from hermes_telemetry.paths import database_path
import sqlite3
count = "select count(*) from llm_calls where turn_id = 's:t:2' and cost_usd is null"
print(*sqlite3.connect(database_path()).execute(count).fetchone())
"""


@pytest.mark.parametrize(
    ("before", "locks", "budgets"),
    [
        # What loads the recorder; the recorder and its turns; the ledger and the prices.
        pytest.param("", 1, None, id="before the first hook"),
        pytest.param("pre_tool_call", 3, None, id="before there was anything to record"),
        pytest.param("pre_api_request post_api_request", 8, None, id="in the middle of a session"),
        # That of the totals, too.
        pytest.param(
            "pre_api_request post_api_request", 14, {"global": {"daily_usd": 1}}, id="with a limit"
        ),
    ],
)
def test_a_forked_child_waits_for_no_lock_of_its_parent(
    before: str, locks: int, budgets: Any, hermes_home: Path
) -> None:
    if budgets:
        (hermes_home / "telemetry").mkdir()
        set_budget(hermes_home / "telemetry", budgets)
    with running(PROGRAM, before) as process:
        held, exit_code = map(int, process.hear().split())
        assert exit_code == 0
        assert held >= locks
        assert process.hear() == "1"
        assert process.end() == 0
