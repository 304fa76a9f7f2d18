"""The commands inside the host: in its own chat, in its TUI, as a gateway calls them, and as
`hermes telemetry`.
"""

import json
import re
import subprocess

import pytest
import yaml

from support.host import Host, StartHost
from support.provider import Text, Usage
from support.terminal import Terminal
from support.tui import TuiServer

pytestmark = pytest.mark.host

# 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 micro-dollars.
USAGE = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
PROMPT = "❯"
REFUSED = "Nothing was changed: only the operator can do that"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")

# The lines by which the host's gateway calls a command of a plugin.
AS_A_GATEWAY = """
import asyncio, sys
from hermes_cli.plugins import get_plugin_command_handler

async def answer(words):
    name, _, arguments = words.partition(" ")
    result = get_plugin_command_handler(name)(arguments)
    if asyncio.iscoroutine(result):
        result = await result
    return str(result) if result else None

for words in sys.argv[1:]:
    print(asyncio.run(answer(words)))
"""


@pytest.fixture(scope="module")
def host(start_host: StartHost) -> Host:
    """A host with one turn in its ledger: 0.001410 USD."""
    host = start_host()
    host.provider.answer("say hello", Text("hello", USAGE))
    assert host.run("chat", "-Q", "-q", "say hello").returncode == 0
    return host


def text_of(terminal: Terminal) -> str:
    """The screen without control sequences."""
    return _CONTROL.sub("", terminal.screen).replace("\r", "")


def limits(host: Host) -> object:
    file = host.telemetry / "budget.yaml"
    return yaml.safe_load(file.read_text()) if file.exists() else None


def test_in_the_hosts_own_chat_commands_answer_and_the_operator_may_write(host: Host) -> None:
    with Terminal(host.command("chat"), host.environment, host.folder) as terminal:
        terminal.wait_until(lambda: PROMPT in terminal.screen)
        terminal.enter("/stats models today")
        terminal.wait_until(lambda: "Total: $0.0014" in text_of(terminal))
        terminal.enter("/budget set global daily 5")
        terminal.wait_until(lambda: "budget.yaml: global: $5.00 a day" in text_of(terminal))
        terminal.enter("/budget")
        terminal.wait_until(lambda: "- global: $5.00 a day" in text_of(terminal))
        terminal.enter("/budget forecast --window daily")
        terminal.wait_until(lambda: "global, daily: " in text_of(terminal))
        terminal.enter("/exit")
        assert terminal.wait_for_exit() == 0, terminal.screen[-3000:]
    assert limits(host) == {"budgets": {"global": {"daily_usd": 5}}}
    # The answers are for the user: no turn was taken on their account.
    assert host.rows("select count(*) from llm_calls") == [(1,)]


def test_in_the_tui_commands_answer_and_nobody_may_write(host: Host) -> None:
    before = limits(host)
    with TuiServer(host) as tui:
        session = tui.ask("session.create", cols=80)["session_id"]

        def say(name: str, words: str) -> str:
            return str(
                tui.ask("command.dispatch", session_id=session, name=name, arg=words)["output"]
            )

        assert "Total: $0.0014" in say("stats", "providers today")
        assert say("budget", "set global daily 500").startswith(REFUSED)
        tui.ask("session.close", session_id=session)
    assert limits(host) == before


def test_a_gateway_gets_its_answers_and_a_chat_user_changes_nothing(host: Host) -> None:
    before = limits(host)
    done = subprocess.run(
        [
            *(host.python, "-c", AS_A_GATEWAY),
            *("stats models today", "budget set global daily 500", "setup budget default"),
        ],
        cwd=host.folder,
        # What it inherits from the chat in which it was started, and sets itself.
        env=host.environment | {"HERMES_INTERACTIVE": "1", "_HERMES_GATEWAY": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Total: $0.0014" in done.stdout
    assert done.stdout.count(REFUSED) == 2
    assert "\nhermes telemetry budget set global daily 500\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 72
    assert limits(host) == before


def test_hermes_telemetry_is_the_command_line(host: Host) -> None:
    (host.telemetry / "budget.yaml").write_text("budgets: {global: {daily_usd: 0.001}}")
    stats = host.run("telemetry", "stats", "models", "today", "--json")
    assert stats.returncode == 0, stats.stderr
    (row,) = json.loads(stats.stdout)["figures"]["cost_by_model"]
    assert (row["model"], row["cost_usd"]) == ("fake-model", pytest.approx(0.001410))
    # What a command found is the host's own exit code, too.
    breach = host.run("telemetry", "budget", "check")
    assert (breach.returncode, "hard" in breach.stdout) == (1, True)
    wrong = host.run("telemetry", "stats", "modles")
    assert wrong.returncode == 2
    assert wrong.stderr.splitlines()[-1].startswith("hermes-telemetry stats: 'modles' is not")
    assert "hermes telemetry budget" in host.run("telemetry", "budget", "--help").stdout


def test_a_profile_of_runs_is_named_as_the_host_leaves_it_to_a_command(host: Host) -> None:
    """`hermes` takes --profile for itself, wherever it stands."""
    for profile, models in (("default", 1), ("other", 0)):
        done = host.run("telemetry", "stats", "models", "--of-profile", profile, "--json")
        assert len(json.loads(done.stdout)["figures"]["cost_by_model"]) == models
