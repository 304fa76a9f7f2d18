"""`hermes-telemetry serve`: the real command, over HTTP, on both lines of Datasette."""

import os
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import httpx
import pytest

from hermes_telemetry.commands.cli import main
from support.rows import insert

COMMAND = [sys.executable, "-m", "hermes_telemetry.commands.cli", "serve"]


@dataclass
class Server:
    """A running `serve`: what it has printed, and a client at the address it printed."""

    process: "subprocess.Popen[str]"
    lines: list[str]
    client: httpx.Client
    stderr: IO[str]

    @property
    def login(self) -> str:
        return re.search(r"http://\S+/-/auth-token\?token=\w+", "".join(self.lines))[0]  # type: ignore[index]

    def warnings(self) -> str:
        self.stderr.seek(0)
        return self.stderr.read()

    def stop(self, how: int) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=30)


@contextmanager
def serving(*arguments: str | Path, **environment: str) -> Iterator[Server]:
    with TemporaryFile("w+") as stderr:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments), "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **environment},
            # Under nohup, as some build machines run this, a hang-up would be ignored.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        assert process.stdout is not None
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Ctrl-C"):
                    break
            else:
                stderr.seek(0)
                pytest.fail(f"serve ended: {''.join(lines)}{stderr.read()}")
            address = re.search(r"Address: (\S+)", "".join(lines))
            assert address is not None
            with httpx.Client(base_url=address[1], timeout=60) as client:
                yield Server(process, lines, client, stderr)
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def filled(ledger: Path) -> Path:
    """Two calls of 1 July 2026, at 0.50 and 0.25 USD."""
    for second, cost in ((1, 0.5), (2, 0.25)):
        insert(
            ledger,
            "llm_calls",
            session_id="s",
            ts=f"2026-07-01T12:00:0{second}.000000+00:00",
            model="m",
            cost_usd=cost,
        )
    return ledger


def test_the_printed_address_answers_with_the_canned_queries(filled: Path) -> None:
    with serving(filled, TZ="UTC") as server:
        assert server.lines[0] == f"Serving {filled}\n"
        rows = server.client.get("telemetry/cost_by_day.json?_shape=array&since=all").json()
        assert [(row["day"], row["cost_usd"]) for row in rows] == [("2026-07-01", 0.75)]


def test_large_ledgers_get_the_settings_they_need(filled: Path) -> None:
    with serving(filled) as server:
        settings = server.client.get("-/settings.json").json()
        assert settings["suggest_facets"] is False
        assert settings["sql_time_limit_ms"] == 5000
        assert settings["facet_time_limit_ms"] == 1000


def test_the_login_link_signs_in_as_root_once(filled: Path) -> None:
    with serving(filled) as server:
        first = server.client.get(server.login)
        assert (first.status_code, "ds_actor" in first.cookies) == (302, True)
        assert server.client.get("-/actor.json").json()["actor"]["id"] == "root"
        with httpx.Client() as stranger:
            assert stranger.get(server.login).status_code == 403


def test_the_login_says_what_it_is_for(filled: Path) -> None:
    with serving(filled) as server:
        said = f"Log in as root, who may prune and save charts (works once): {server.login}\n"
        assert said in server.lines
        path = "-/telemetry/prune.json"
        rule = {"before": "2000-01-01"}
        assert server.client.post(path, json=rule).status_code == 403
        server.client.get(server.login)
        # 0.65 wants its token from who is known by a cookie; 1.0 knows no such cookie.
        server.client.get("-/logout")
        token = {"x-csrftoken": server.client.cookies.get("ds_csrftoken") or ""}
        answer = server.client.post(path, json=rule, headers=token)
        assert (answer.status_code, answer.json()["deleted"]) == (200, 0)


def test_several_files_are_served_side_by_side(filled: Path, tmp_path: Path) -> None:
    other = tmp_path / "host-b.db"
    other.write_bytes(filled.read_bytes())
    with serving(filled, other, filled) as server:
        names = ("telemetry", "host-b", "telemetry_2")
        codes = [server.client.get(f"{name}.json").status_code for name in names]
        assert codes == [200, 200, 404]


def test_a_file_that_is_no_ledger_is_named_and_served_all_the_same(
    filled: Path, tmp_path: Path
) -> None:
    other = tmp_path / "recipes.db"
    with closing(sqlite3.connect(other)) as recipes:
        recipes.execute("create table recipes (name text)")
    with serving(filled, other) as server:
        assert server.client.get("recipes.json").status_code == 200
        assert server.warnings() == (
            f"{other} is not a telemetry ledger: it has no runs and llm_calls; it is served without"
            " telemetry pages\n"
        )


def test_without_a_file_the_telemetry_home_is_served(filled: Path, hermes_home: Path) -> None:
    home = hermes_home / "telemetry" / "telemetry.db"
    home.parent.mkdir()
    home.write_bytes(filled.read_bytes())
    with serving() as server:
        assert server.lines[0] == f"Serving {home}\n"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(filled: Path, how: int) -> None:
    with serving(filled) as server:
        assert server.stop(how) == 0
        assert server.warnings() == ""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_the_demo_is_served_and_gone_at_the_end(tmp_path: Path, how: int) -> None:
    with serving("--demo", TMPDIR=str(tmp_path)) as server:
        days = server.client.get("telemetry/cost_by_day.json?_shape=array&since=all").json()
        assert sum(day["calls"] for day in days) == 9000
        assert list(tmp_path.glob("hermes-telemetry-*/telemetry.db")) != []
        assert server.stop(how) == 0
        assert server.warnings() == ""
    assert list(tmp_path.glob("hermes-telemetry-*")) == []


def test_an_open_address_says_who_can_read_what_and_how_to_require_a_login(filled: Path) -> None:
    with serving(filled, "--host", "0.0.0.0") as server:
        warning, login = server.warnings().splitlines()
        assert "whoever can reach this machine on 0.0.0.0" in warning
        assert "every row of telemetry.db" in warning
        assert 'write {"allow": {"id": "root"}} to login.json' in login
        # The wildcard is no address to visit.
        assert server.client.base_url.host == "127.0.0.1"


def test_a_loopback_address_gives_no_warning(filled: Path) -> None:
    with serving(filled, "--host", "localhost") as server:
        assert server.warnings() == ""


def test_the_advice_for_a_login_holds(filled: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "my ledgers" / "telemetry.db"
    spaced.parent.mkdir()
    filled.rename(spaced)
    with serving(spaced, "--host", "0.0.0.0") as server:
        advice = server.warnings().splitlines()[1].rpartition("run instead: datasette ")[2]
    command = shlex.split(advice)
    (tmp_path / "login.json").write_text('{"allow": {"id": "root"}}', encoding="utf-8")
    asked = subprocess.run(
        [sys.executable, "-m", "datasette", *command, "--get", "/telemetry.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert asked.returncode == 1
    assert "llm_calls" not in asked.stdout


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(["serve", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str], filled: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert refusal(capsys, filled, "--port", str(port)) == (
            f"hermes-telemetry serve: port {port} of 127.0.0.1 is in use:"
            " name another with --port, or --port 0"
        )


def test_an_unknown_host_is_one_line(capsys: pytest.CaptureFixture[str], filled: Path) -> None:
    line = refusal(capsys, filled, "--host", "no-such-host.invalid")
    assert line.startswith("hermes-telemetry serve: cannot listen on no-such-host.invalid: ")


def test_what_cannot_be_served_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, hermes_home: Path
) -> None:
    missing = tmp_path / "missing.db"
    assert refusal(capsys, missing) == (
        f"hermes-telemetry serve: there is no file {missing}: name a ledger that is there"
    )
    home = hermes_home / "telemetry" / "telemetry.db"
    assert refusal(capsys) == (
        f"hermes-telemetry serve: there is no file {home}: Hermes makes it with its first turn;"
        " another one is named by --db FILE"
    )
    text = tmp_path / "text.db"
    text.write_text("no database, and long enough to tell\n" * 40, encoding="utf-8")
    assert "text.db cannot be read: file is not a database" in refusal(capsys, text)


def test_without_datasette_it_names_the_extra(
    capsys: pytest.CaptureFixture[str], filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasette", None)
    assert refusal(capsys, filled) == (
        "hermes-telemetry serve: Datasette is not installed here:"
        " pip install 'hermes-telemetry[datasette]'"
    )
