"""An old ledger of 500,000 calls, met first by processes that live for a moment.

Its upgrade takes longer than a hook may: a process of its own does it, one at a time, and what the
hooks had to say meanwhile comes in.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hermes_telemetry.recorder import Recorder
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


def test_a_process_that_lives_on_starts_the_upgrade_again_when_it_failed(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_ledger(path)) as connection:
        for version in (1, 2, 3):
            step(version)(connection)
        connection.execute(
            "insert into llm_calls (id, session_id, ts) values (100001, 'old', '2026-01-01')"
        )
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append(command))
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
