"""What users get wrong, one by one, through the console script: one line that says what to do, 2.

Each is `command line` and what its line says. The folder that they run in holds `ledger.db`,
`text.db` (no database), `other.db`, `races.db`, `laps.db` and `seen.db` (databases of something
else; the tables of `laps.db` and the views of `seen.db` have a ledger's names), `closed.db` and
`unseen/` (nobody may read or write them), `closed/` and `readable.db` (nobody may write them),
`old.db` (schema v12), `list.csv`, a faulty `bad/budget.yaml` beside `bad/ledger.db`, and `fixed/`
(nobody may write there) with a `budget.yaml`. Nobody may write in the telemetry home either.
"""

import os
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.store import migrations
from support import old_ledger
from support.rows import insert

SCRIPT = Path(sys.executable).with_name("hermes-telemetry")

FORBIDDEN = "permission denied; check the permissions of the file and its folder"
NO_ROOM = "nothing can be written there (permission denied); check the permissions of the folder"
READ_ONLY = (
    "the ledger readable.db cannot be written: check the permissions of the file and its folder"
)

ERRORS = {
    # --- words
    "": "the following arguments are required: COMMAND (see hermes-telemetry --help)",
    "querry x": "invalid choice: 'querry': did you mean query? (see hermes-telemetry --help)",
    "bugdet": "did you mean budget?",
    "budget sett global daily 5": "did you mean set? (see hermes-telemetry budget --help)",
    "pricing shwo x": "did you mean show? (see hermes-telemetry pricing --help)",
    "budget set corn_job daily 5": "did you mean cron_job?",
    "frobnicate": "(choose from ",
    "stats --sinse 7d": "unrecognized arguments: --sinse: did you mean --since? (see "
    "hermes-telemetry stats --help)",
    "query cost_by_day --wide": "--wide (see hermes-telemetry query --help)",
    "budget set global daily 5 --dry": "--dry (see hermes-telemetry budget set --help)",
    "budget set global daily": "required: USD, as in: hermes-telemetry budget set cron_job "
    "nightly-report daily 3 (see ",
    "query": "name a query; --list prints them all",
    "query cost_by_dya --db ledger.db": "did you mean cost_by_day?",
    "query cost_by_day --param since --db ledger.db": "'since' is not KEY=VALUE",
    "query cost_by_day --param x=1 --db ledger.db": "(it takes: since, until, profile)",
    "query cron_runs --db ledger.db": "has no rows without --param cron_job_id=…",
    "query cost_by_day --csv --json --db ledger.db": "not allowed with argument --csv",
    "stats modles --db ledger.db": "'modles' is not understood here: did you mean models?",
    "stats lastweek --db ledger.db": "did you mean last-week?",
    "stats frobnicate --db ledger.db": "name a report (summary, cron, ",
    "stats raw many --db ledger.db": "a number of runs behind raw",
    "stats week --to 2026-07-01 --db ledger.db": "name week or --since and --until, not both",
    "export out --format xml --db ledger.db": "(choose from 'csv', 'ndjson')",
    "export '' --db ledger.db": "name a folder for the files",
    "merge out.db": "the following arguments are required: IN, as in: hermes-telemetry merge ",
    "setup pricing always": "name pricing auto|minimal|skip",
    "pricing show": "are required: MODEL, as in: hermes-telemetry pricing show ",
    # --- dates and amounts
    "query cost_by_day --since soon --db ledger.db": "neither a date (2026-07-01), an ISO instant",
    "stats --from 2026-02-30 --db ledger.db": "neither a date (2026-07-01), an ISO instant",
    "query cost_by_day --since 2026-07-02 --until 2026-07-01 --db ledger.db": "'2026-07-01' lies "
    "before since: '2026-07-02'",
    "query cost_by_day --since 2999-01-01 --db ledger.db": "since: '2999-01-01' lies in the future",
    "stats --from 2999-01-01 --db ledger.db": "since: '2999-01-01' lies in the future",
    "export out --since 2999-01-01 --db ledger.db": "--since: '2999-01-01' lies in the future",
    "pricing fill --since 2999-01-01 --db ledger.db": "--since: '2999-01-01' lies in the future",
    "prune --before someday --db ledger.db": "is not an age (12h, 90d, 4w), date (2026-07-01)",
    "prune --before 30 --db ledger.db": "'30' has no unit: 30d is an age in days (or 30h, 30w)",
    "prune --before 30d --status 429,many --db ledger.db": "'many' is not a status code (a number",
    "report --month lastmonth --db ledger.db": "is not a month (2026-07), nor month or last-month",
    "bill --csv list.csv --month 2026-13 --db ledger.db": "'2026-13' is not a month (2026-07)",
    "budget set global daily five": "'five' is not an amount in USD: write a number from ",
    "budget set global daily -- -5": "'-5' is not an amount in USD: write a number",
    "demo new.db --days 0": "'0' is not a whole number from 1 on",
    # --- scopes and ids
    "budget set team daily 5": "(choose from 'global', 'cron_job', 'sender', 'profile')",
    "budget set global hourly 5": "(choose from 'daily', 'monthly')",
    "budget set global x daily 5": "it takes no id",
    "budget check --scope team": "(choose from 'global', 'cron_job', 'sender', 'profile')",
    "forecast --scope sender --db ledger.db": "say which sender with --id",
    "forecast --id x --db ledger.db": "it takes no --id",
    "forecast --scope sender --id nobody --db ledger.db": "no call of the sender 'nobody' is ",
    # --- files that are missing, wrong, old, closed
    "stats": "first turn; another one is named by --db FILE",
    # A variable that is not set names no ledger, and not the one in the telemetry home either.
    "stats --db ''": ". is a folder: name a ledger in it",
    "budget --db missing.db": "there is no file missing.db: name a ledger that is there",
    "forecast --db closed": "closed is a folder: name a ledger in it",
    "stats --db missing.db": "there is no file missing.db: name a ledger that is there",
    "merge out.db missing.db": "there is no file missing.db: name a ledger that is there",
    "stats --db text.db": "text.db cannot be read: file is not a database",
    "budget --db other.db": "other.db is not a telemetry ledger",
    "migrate --db other.db": "other.db is not a telemetry ledger",
    "migrate --db races.db": "races.db is not a telemetry ledger: its table runs has no session_id",
    "merge out.db races.db": "races.db is not a telemetry ledger: its table runs has no session_id",
    "merge out.db laps.db": "laps.db is not a telemetry ledger: it has no runs.platform, runs.cron",
    "stats --db seen.db": "seen.db is not a telemetry ledger: it has no runs and llm_calls",
    "serve text.db": "text.db cannot be read: file is not a database",
    "stats --db closed.db": "closed.db cannot be read: ",
    "stats models --db old.db": None,
    "query estimated_share --db old.db": "with hermes-telemetry migrate --db old.db",
    "budget check --db bad/ledger.db": "budget.yaml: line 1, column ",
    "budget set global daily 5 --db bad/ledger.db": "budget.yaml: line 1, column ",
    "bill --csv missing.csv --db ledger.db": "missing.csv cannot be read: No such file",
    "bill --csv list.csv --db ledger.db": "has no column 'date' (it has: 'a', 'b')",
    "demo ledger.db": "ledger.db exists: a demo ledger is always a new file",
    "demo closed/new.db": "nothing can be written in closed: name a file elsewhere",
    "export closed/out --db ledger.db": "nothing can be written in closed: name a folder elsewhere",
    "merge closed/all.db ledger.db": "closed cannot be written: name a file elsewhere",
    "merge readable.db ledger.db": "readable.db cannot be written: name a file elsewhere",
    "stats --db unseen/ledger.db": f" unseen/budget.yaml: {FORBIDDEN}",
    "merge all.db unseen/ledger.db": f"unseen/ledger.db: {FORBIDDEN}",
    "export unseen/out --db ledger.db": f"unseen/out: {FORBIDDEN}",
    "report --month 2026-07 --out closed/r.html --db ledger.db": f"/closed: {NO_ROOM}",
    "optimize --db readable.db": READ_ONLY,
    "prune --before 1d --apply --db readable.db": READ_ONLY,
    "budget set global daily 5 --db fixed/ledger.db": f"/fixed: {NO_ROOM}",
    "setup": f"/telemetry: {NO_ROOM}",
    "pricing refresh --apply": f"/telemetry: {NO_ROOM}",
    "sync-profiles --telemetry-home readable.db": "readable.db is not a folder",
    # --- the machine
    "serve ledger.db --port PORT": "PORT",
    "serve ledger.db --port 70000": "'70000' is not a port (0 to 65535)",
}
"""Command line -> what its line says; None: no error at all, an old ledger answers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    migrations.migrate(folder / "ledger.db")
    (folder / "bad").mkdir()
    shutil.copy(folder / "ledger.db", folder / "bad")
    shutil.copy(folder / "ledger.db", folder / "closed.db")
    shutil.copy(folder / "ledger.db", folder / "readable.db")
    long_ago = "2026-01-01T00:00:00.000000+00:00"  # what prune would delete
    insert(folder / "readable.db", "llm_call_errors", session_id="s", ts=long_ago, status_code=500)
    (folder / "bad" / "budget.yaml").write_text("budgets: {global: {daily_usd: lots}}\n")
    (folder / "text.db").write_text("no database, and long enough to tell\n" * 40)
    (folder / "list.csv").write_text("a,b\n1,2\n")
    with closing(sqlite3.connect(folder / "other.db")) as other:
        other.execute("create table recipes (name text)")
    with closing(sqlite3.connect(folder / "races.db")) as races:
        races.execute("create table runs (runner text, started_at text)")
        races.execute("create table llm_calls (session_id text, ts text)")
    with closing(sqlite3.connect(folder / "laps.db")) as laps:
        laps.execute("create table runs (session_id text, started_at text, metres real)")
        laps.execute("create table llm_calls (session_id text, ts text)")
    with closing(sqlite3.connect(folder / "seen.db")) as seen:
        seen.execute("create view runs as select 's' as session_id, '2026-07-01' as started_at")
        seen.execute("create view llm_calls as select 's' as session_id, '2026-07-01' as ts")
    old_ledger.build(folder / "old.db", 12)
    (folder / "closed.db").chmod(0)
    (folder / "readable.db").chmod(0o400)
    (folder / "fixed").mkdir()
    (folder / "fixed" / "budget.yaml").write_text("budgets: {}\n")
    (folder / "fixed").chmod(0o500)
    (folder / "closed").mkdir(mode=0o500)
    (folder / "unseen").mkdir(mode=0)
    return folder


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


def run(folder: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [str(SCRIPT), *words]
    if os.geteuid() == 0:  # root may read and write what is closed
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *command]
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("words", ERRORS)
def test_a_users_error_is_one_line_with_what_to_do(
    folder: Path, port: int, hermes_home: Path, words: str
) -> None:
    (hermes_home / "telemetry").mkdir(mode=0o500)
    done = run(folder, *shlex.split(words.replace("PORT", str(port))))
    says = ERRORS[words]
    if says is None:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("hermes-telemetry")
    assert says.replace("PORT", str(port)) in line
    assert "Traceback" not in line


def test_a_missing_extra_is_one_line_with_its_name(folder: Path) -> None:
    absent = folder / "without" / "datasette.py"
    absent.parent.mkdir()
    absent.write_text("raise ModuleNotFoundError(name='datasette')\n")
    done = run(folder, "serve", "ledger.db", PYTHONPATH=str(absent.parent))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.endswith("pip install 'hermes-telemetry[datasette]'")


@pytest.mark.skipif(os.geteuid() != 0, reason="others may not even try to write there")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("export /proc/out --db ledger.db", "/proc/out: no such file or directory; check the path"),
        (
            "report --month 2026-07 --out /proc/r.html --db ledger.db",
            "/proc: nothing can be written there (no such file or directory); check the path",
        ),
        ("merge /proc/all.db ledger.db", "the ledger /proc/all.db cannot be opened: check the "),
        ("demo /proc/new.db", "the ledger /proc/new.db cannot be opened: check the permissions "),
    ],
)
def test_what_the_permissions_allow_and_the_system_refuses_is_told_as_such(
    folder: Path, hermes_home: Path, words: str, says: str
) -> None:
    done = subprocess.run(
        [SCRIPT, *shlex.split(words)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert says in line
