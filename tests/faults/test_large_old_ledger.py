"""An old ledger of 500,000 calls, met first by processes that live for a moment.

Its upgrade takes longer than a hook may: a process of its own does it, one at a time, and what the
hooks had to say meanwhile comes in.
"""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.upgrade import is_large
from support.hook_payloads import answered
from support.installs import repository_of_the_working_tree
from support.ledger_facts import (
    api_request_ids,
    ask_ledger,
    faults,
    tool_call_ids,
    waiting_files,
)
from support.old_ledger import open_ledger, step
from support.processes import ended_afterwards, running
from support.schema import V18, shape_of
from support.stopped_clock import StoppedClock

CALLS, SESSIONS = 500_000, 1000
VISITORS, VISITS = 4, 5

PATIENCE_S = 120

LOADED_BY_THE_HOST = """
import importlib.util, os, sys, types
from pathlib import Path

# As the host imports a plugin from its git clone: the folder under a name of the host's choice.
clone, session = Path(sys.argv[1]), sys.argv[2]
sys.modules["hermes_plugins"] = types.ModuleType("hermes_plugins")
spec = importlib.util.spec_from_file_location(
    "hermes_plugins.telemetry", clone / "__init__.py", submodule_search_locations=[str(clone)]
)
plugin = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plugin)
hooks = {}

class Context:
    register_hook = staticmethod(hooks.__setitem__)

    def __getattr__(self, name):
        return lambda *arguments, **options: None

plugin.register(Context())
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    hooks["post_api_request"](
        session_id=session, turn_id=session, api_request_id=f"{session}/{number}",
        model="fake-model", provider="custom",
        usage={"input_tokens": 1000, "output_tokens": 10},
    )
    hooks["post_tool_call"](
        session_id=session, turn_id=session, tool_call_id=f"{session}/{number}",
        tool_name="terminal", status="ok", result="{}", duration_ms=1,
    )
assert not any(name.startswith("hermes_telemetry") for name in sys.modules)
os._exit(0)
"""


@pytest.fixture
def old_ledger(path: Path) -> Iterator[Path]:
    """A ledger at v3, in the rollback-journal mode of a fresh file."""
    with closing(open_ledger(path)) as connection:
        connection.execute("pragma synchronous = off")
        for version in (1, 2, 3):
            step(version)(connection)
        connection.execute("begin")
        connection.execute(
            f"""
            with recursive numbers(n) as (
              select 0 union all select n + 1 from numbers where n + 1 < {CALLS}
            )
            insert into llm_calls
              (session_id, ts, model, provider, tokens_in, tokens_out, cost_usd, latency_ms)
            select
              'old ' || n / {CALLS // SESSIONS},
              strftime('%Y-%m-%dT%H:%M:%S', 1767225600 + n * 60, 'unixepoch') || '.000000+00:00',
              'model ' || n % 7, 'custom', n % 1000, n % 100, n % 64 / 64.0, n % 3000
            from numbers
            """
        )
        connection.execute(
            """
            insert into runs (session_id, started_at, status, cost_usd, api_calls)
            select session_id, min(ts), 'ok', sum(cost_usd), count(*)
            from llm_calls
            group by session_id
            """
        )
        connection.execute("commit")
    with ended_afterwards(str(path)):
        yield path


@pytest.mark.slow
def test_one_detached_migration_upgrades_it_and_brings_in_what_was_recorded_meanwhile(
    old_ledger: Path, tmp_path: Path
) -> None:
    clone = git_clone(tmp_path)
    user_folder = tmp_path / "project of the user"
    user_folder.mkdir()
    (user_folder / "argparse.py").write_text("raise SystemExit('the wrong argparse')")
    environment = {name: os.environ[name] for name in os.environ if name[:6] != "PYTHON"}

    with ExitStack() as visits:
        visitors = [
            visits.enter_context(
                running(
                    LOADED_BY_THE_HOST,
                    clone,
                    f"visitor {number}",
                    VISITS,
                    environment=environment,
                    cwd=user_folder,
                )
            )
            for number in range(VISITORS)
        ]
        for visitor in visitors:
            assert visitor.hear() == "ready"
        for visitor in visitors:
            visitor.say()
        assert [visitor.end() for visitor in visitors] == [0] * VISITORS

    reports = wait_for_reports(old_ledger, VISITORS)
    assert reports.count(f"{old_ledger}: schema v3 -> v18") == 1
    # Whoever came late found all done.
    assert (
        reports.count(f"another migrate is at work on {old_ledger}")
        + reports.count(f"{old_ledger} is at schema v18: nothing to do")
        == VISITORS - 1
    )
    assert shape_of(old_ledger) == V18
    assert ask_ledger(old_ledger, "select version from schema_version order by rowid") == [
        (version,) for version in range(1, 19)
    ]
    assert waiting_files(old_ledger) == []
    recorded = [
        f"visitor {number}/{visit}" for number in range(VISITORS) for visit in range(VISITS)
    ]
    assert [name for name in api_request_ids(old_ledger) if name] == recorded
    assert tool_call_ids(old_ledger) == recorded
    assert ask_ledger(old_ledger, "select count(*) from llm_calls") == [
        (CALLS + VISITORS * VISITS,)
    ]
    assert faults(old_ledger) == []
    # It ran from the clone, not from another copy of this project: its bytecode is there.
    assert list((clone / "hermes_telemetry/commands/__pycache__").glob("migrate.*"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of the processes that would have been started."""
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: commands.append(command))
    return commands


def build_with_ids(path: Path, version: int, **newest: int) -> None:
    """A ledger at ``version``; the newest row of each table named has that id."""
    with closing(open_ledger(path)) as connection:
        for number in range(1, version + 1):
            step(number)(connection)
        for table, newest_id in newest.items():
            tool = ("tool_name,", "'t',") if table == "tool_calls" else ("", "")
            connection.execute(
                f"insert into {table} ({tool[0]} id, session_id, ts)"
                f" values ({tool[1]} {newest_id}, 'old', '2026-01-01')"
            )


@pytest.mark.parametrize(
    ("version", "newest", "is_large"),
    [
        (3, {"llm_calls": 100_001}, True),
        (17, {"llm_calls": 1, "tool_calls": 100_000}, True),
        (17, {"llm_calls": 60_000, "tool_calls": 60_000}, True),
        (3, {"llm_calls": 60_000, "tool_calls": 40_000}, False),
        (18, {"llm_calls": 100_001, "tool_calls": 100_001}, False),
    ],
)
def test_what_takes_longer_than_a_hook_may_is_not_done_in_one(
    version: int,
    newest: dict[str, int],
    is_large: bool,
    home: Path,
    path: Path,
    started: list[list[str]],
) -> None:
    build_with_ids(path, version, **newest)

    Recorder(home, clock=StoppedClock().clock).hooks()["post_api_request"](**answered("s", 1))

    assert len(started) == int(is_large)
    assert len(waiting_files(path)) == int(is_large)
    versions = ask_ledger(path, "select max(version) from schema_version")
    assert versions == [(version if is_large else 18,)]


def test_a_lost_index_of_a_large_current_ledger_is_not_built_in_a_hook(
    home: Path, path: Path, started: list[list[str]]
) -> None:
    build_with_ids(path, 18, llm_call_errors=100_001)
    with closing(open_ledger(path)) as connection:
        connection.execute("drop index idx_llm_call_errors_session")

    Recorder(home, clock=StoppedClock().clock).hooks()["post_api_request"](**answered("s", 1))

    assert len(started) == 1


def test_a_file_that_is_locked_is_not_taken_for_a_small_one(path: Path) -> None:
    build_with_ids(path, 3, llm_calls=100_001)
    with closing(open_ledger(path)) as holder, closing(open_ledger(path)) as connection:
        connection.execute("pragma busy_timeout = 0")
        holder.execute("begin exclusive")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            is_large(connection)


def test_a_process_that_lives_on_starts_the_upgrade_again_when_it_failed(
    home: Path, path: Path, started: list[list[str]]
) -> None:
    build_with_ids(path, 3, llm_calls=100_001)
    time_of_the_host = StoppedClock()
    hooks = Recorder(home, clock=time_of_the_host.clock).hooks()

    for number in range(10):
        hooks["post_api_request"](**answered("s", number))
        time_of_the_host.advance(59)
    assert len(started) == 1

    time_of_the_host.advance(10)
    hooks["post_api_request"](**answered("s", 10))
    assert len(started) == 2
    assert started[0][-2:] == ["--db", str(path)]


def git_clone(folder: Path) -> Path:
    source = folder / "repository"
    source.mkdir()
    address = repository_of_the_working_tree(source)
    clone = folder / "plugins" / "hermes-telemetry"
    subprocess.run(["git", "clone", "--quiet", address, clone], check=True)
    return clone


def wait_for_reports(path: Path, processes: int) -> list[str]:
    """The lines of the upgrade's log, once each process has written its report."""
    deadline = time.monotonic() + PATIENCE_S
    log = path.with_name(path.name + ".migrate.log")
    while True:
        lines = log.read_text(encoding="utf-8").splitlines()
        if sum(str(path) in line for line in lines) >= processes:
            return lines
        assert time.monotonic() < deadline, lines
        time.sleep(0.05)
