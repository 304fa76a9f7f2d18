"""Eight processes open one file in the same moment: every step is taken once, by one of them."""

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, telemetry_home
from hermes_telemetry.recorder import Recorder
from support.old_ledger import build, contents, open_ledger, record_version
from support.processes import running
from support.schema import V18, shape_of

OPEN_AT_THE_SIGNAL = """
import json, sys
from pathlib import Path
from hermes_telemetry.store.migrations import migrate

print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(migrate(Path(sys.argv[1]))), flush=True)
"""

RECORD_AT_THE_SIGNAL = """
import sys
from hermes_telemetry.recorder import Recorder

session = sys.argv[2]
answered = Recorder().hooks()["post_api_request"]
print("ready", flush=True)
sys.stdin.readline()
answered(session_id=session, turn_id=session, api_request_id=session)
print("[]", flush=True)
"""


@pytest.fixture
def path() -> Path:
    telemetry_home().mkdir(parents=True)
    return database_path()


def nothing_there(path: Path) -> None:
    assert not path.exists()


def version_3(path: Path) -> None:
    build(path, 3)


def version_17(path: Path) -> None:
    build(path, 17)


def wedged_v7(path: Path) -> None:
    build(path, 6)
    with closing(open_ledger(path)) as connection:
        record_version(connection, 7)


def edges_lost_behind_version_18(path: Path) -> None:
    build(path, 18)
    with closing(open_ledger(path)) as connection:
        connection.execute("drop table subagent_edges")


@pytest.mark.parametrize(
    ("file", "pending"),
    [
        (nothing_there, range(1, 19)),
        (version_3, range(4, 19)),
        (version_17, range(18, 19)),
        (wedged_v7, range(8, 19)),
        (edges_lost_behind_version_18, range(0)),
    ],
)
def test_eight_processes_at_once(file: Callable[[Path], None], pending: range, path: Path) -> None:
    file(path)
    before = rows_of_calls(path) if path.exists() else []

    taken = at_once(OPEN_AT_THE_SIGNAL, path, processes=8)

    assert sorted(version for versions in taken for version in versions) == list(pending)
    assert shape_of(path) == V18
    with closing(open_ledger(path)) as connection:
        versions = connection.execute("select version from schema_version order by rowid")
        assert [version for (version,) in versions] == list(range(1, 19))
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    assert [row[: len(old)] for row, old in zip(rows_of_calls(path), before, strict=True)] == before


@pytest.mark.parametrize("file", [nothing_there, version_3, wedged_v7])
def test_eight_recorders_at_once(file: Callable[[Path], None], path: Path) -> None:
    file(path)
    before = len(rows_of_calls(path)) if path.exists() else 0

    at_once(RECORD_AT_THE_SIGNAL, path, processes=8)

    # Who did not get the file in time has written beside it; later calls bring that in.
    late = Recorder().hooks()["post_api_request"]
    for number in range(8):
        late(**call_of(f"late {number}"))
    assert shape_of(path) == V18
    with closing(open_ledger(path)) as connection:
        versions = connection.execute("select version from schema_version order by rowid")
        assert [version for (version,) in versions] == list(range(1, 19))
        sessions = connection.execute(
            "select session_id from llm_calls where id > ? order by session_id", (before,)
        ).fetchall()
        assert [session for (session,) in sessions] == sorted(
            f"{when} {number}" for when in ("early", "late") for number in range(8)
        )


def call_of(session: str) -> dict[str, object]:
    return {"session_id": session, "turn_id": session, "api_request_id": session}


def at_once(program: str, path: Path, processes: int) -> list[list[int]]:
    """Start them, wait until each stands at the line, let all go; what each reported."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(running(program, path, f"early {number}"))
            for number in range(processes)
        ]
        for process in started:
            assert process.hear() == "ready"
        for process in started:
            process.say()
        reports = [json.loads(process.hear()) for process in started]
        assert [process.end() for process in started] == [0] * processes
    return reports


def rows_of_calls(path: Path) -> list[tuple[object, ...]]:
    with closing(open_ledger(path)) as connection:
        return contents(connection)["llm_calls"][1]
