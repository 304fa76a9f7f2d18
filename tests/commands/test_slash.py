"""The slash commands as the host calls them: what they answer, what they change and for whom, and
that the host's event loop goes on meanwhile.
"""

import asyncio
import inspect
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hermes_telemetry import plugin, reports
from hermes_telemetry.store import migrations
from support.ledger import HandMadeLedger

Slash = Callable[[str], str]


@dataclass
class HostContext:
    """Takes what a plugin registers, as the host's own context does."""

    profile_name: str = "default"
    commands: dict[str, Callable[[str], Awaitable[str]]] = field(default_factory=dict)
    hints: dict[str, tuple[str, str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def register_hook(self, name: str, callback: Any) -> None: ...

    def register_command(
        self, name: str, handler: Any, description: str = "", args_hint: str = ""
    ) -> None:
        self.commands[name] = handler
        self.hints[name] = description, args_hint

    def register_cli_command(self, name: str, help: str, setup_fn: Any, handler_fn: Any) -> None:
        self.words.append(name)


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> HostContext:
    """A host that has loaded the plugin."""
    context = HostContext()
    monkeypatch.setattr(plugin, "_registered", False)
    monkeypatch.setattr(plugin, "_context", None)
    monkeypatch.setenv("TZ", "UTC")
    plugin.register(context)
    return context


@pytest.fixture
def home(hermes_home: Path) -> HandMadeLedger:
    """The ledger of the telemetry home."""
    path = hermes_home / "telemetry" / "telemetry.db"
    path.parent.mkdir()
    migrations.migrate(path)
    return HandMadeLedger(path)


@pytest.fixture
def say(context: HostContext) -> Slash:
    """The answer to a line of a chat, which must fit into it."""

    def enter(line: str) -> str:
        name, _, words = line.removeprefix("/").partition(" ")

        async def handled() -> str:
            return await context.commands[name](words)

        answer = asyncio.run(handled())
        assert max(map(len, answer.splitlines())) <= 72, answer
        return answer

    return enter


@pytest.fixture
def budget_file(hermes_home: Path) -> Path:
    return hermes_home / "telemetry" / "budget.yaml"


def test_the_host_is_offered_the_commands_with_their_words(context: HostContext) -> None:
    assert list(context.commands) == ["stats", "budget", "setup"]
    assert all(description and hint for description, hint in context.hints.values())
    assert context.words == ["telemetry"]
    # A gateway tells by this that it has to wait.
    assert all(inspect.iscoroutinefunction(handler) for handler in context.commands.values())


def test_a_host_that_takes_no_commands_still_gets_the_rest(caplog: Any) -> None:
    class OlderHost:
        def __init__(self) -> None:
            self.hooks: list[str] = []

        def register_hook(self, name: str, callback: Any) -> None:
            self.hooks.append(name)

    host = OlderHost()
    plugin.register(host)
    assert "post_api_request" in host.hooks
    assert "does not take the command /stats" in caplog.text


def test_stats_is_the_report_of_the_command_line(say: Slash, home: HandMadeLedger, cli) -> None:
    home.call("a", 0.5, "2026-07-01T10:00")
    home.call("a", None, "2026-07-01T10:01")
    answer = say("/stats providers --from 2026-07-01 --to 2026-07-01")
    assert answer.splitlines() == [
        "providers: 2026-07-01 (UTC)",
        "",
        "Cost per provider",
        "provider  cost_usd   share  calls  tokens_in  tokens_out  cache_hit_rate",
        "--------  --------  ------  -----  ---------  ----------  --------------",
        "p          ≥ $0.50  100.0%      2          0           0",
        "Total: ≥ $0.50 (1 unpriced)",
    ]


def test_a_long_report_is_cut_and_says_so(say: Slash, home: HandMadeLedger) -> None:
    for number in range(20):
        home.call("a", 1.0, "2026-07-01T10:00", model=f"model-{number:02}-{'x' * 60}")
    answer = say("/stats models --from all")
    assert "\n… and 8 more\nTotal: $20.00" in answer
    assert "model-00-" + "x" * 26 + "…  " in answer


def test_a_cron_job_goes_by_its_name(say: Slash, home: HandMadeLedger, hermes_home: Path) -> None:
    (hermes_home / "cron").mkdir()
    jobs = [{"id": "0123456789ab", "name": "nightly"}]
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    home.run("s", "2026-07-01T10:00", cron_job_id="0123456789ab")
    home.call("s", 0.5, "2026-07-01T10:00")
    lines = say("/stats cron --from all").splitlines()
    assert lines[3].split()[:2] == ["job_name", "total_usd"]
    assert lines[5].split()[:2] == ["nightly", "$0.50"]


def test_wide_signs_keep_the_columns_and_the_width(
    say: Slash, home: HandMadeLedger, hermes_home: Path
) -> None:
    (hermes_home / "cron").mkdir()
    jobs = [{"id": "0123456789ab", "name": "夜間レポート" * 10}, {"id": "b" * 12, "name": "x"}]
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    wide, narrow = say("/budget cron").splitlines()[2:4]
    # Eleven signs of two places each, and "…".
    assert wide.startswith("夜間レポート夜間レポー…  no limit")
    assert narrow.startswith("x" + " " * 22 + "  no limit")


@pytest.mark.usefixtures("on_wednesday")
def test_budget_and_forecast_answer_in_chat(
    say: Slash, home: HandMadeLedger, budget_file: Path
) -> None:
    home.call("a", 0.5, "2026-07-01T10:00")
    budget_file.write_text("budgets: {global: {daily_usd: 5}}")
    answer = say("/budget")
    # Where the file lies is nothing for a chat.
    assert answer.startswith("Limits in budget.yaml:\n- global: $5.00 a day\n")
    assert say("/budget check") == "no limit is reached"
    assert say("/budget cron").startswith("The host has no cron jobs")
    assert say("/budget forecast").startswith("global, monthly: ")
    assert say("/budget forecast --backtest").startswith("No monthly forecast")


@pytest.mark.usefixtures("on_wednesday")
def test_long_names_are_cut_and_leave_room_for_spend_and_limit(
    say: Slash, home: HandMadeLedger, budget_file: Path
) -> None:
    sender = "s" * 100
    home.run("a", "2026-07-01T10:00", sender_id=sender)
    home.call("a", 1234.5, "2026-07-01T10:00")
    home.call("a", None, "2026-07-01T10:01")
    limits = {"default": {"daily_usd": 5}, "overrides": {sender: {"daily_usd": 7000}}}
    budget_file.write_text(json.dumps({"budgets": {"per_sender": limits}}))
    _, every, _, one, amount, *_ = say("/budget").splitlines()
    assert (every, one, amount) == (
        "- every sender: $5.00 a day",
        "s" * 71 + "…",
        "$7,000.00 a day",
    )
    assert say("/budget").splitlines()[-1].split()[:7] == [
        *("sender", "s" * 20 + "…", "daily", "ok", "≥", "$1,234.50", "$7,000.00")
    ]
    assert say(f"/budget forecast --scope sender --id {sender}").startswith("sender\n" + "s" * 71)


def test_before_the_first_call_there_is_nothing_to_show(say: Slash, hermes_home: Path) -> None:
    for line in ("/stats", "/budget", "/budget forecast"):
        assert say(line) == "Nothing has been recorded yet."
    assert list(hermes_home.iterdir()) == []


def test_a_chat_user_changes_nothing_and_learns_who_can(
    say: Slash, home: HandMadeLedger, budget_file: Path
) -> None:
    answer = (
        "Nothing was changed: only the operator can do that, in a shell on the\n"
        "machine that Hermes runs on.\n"
    )
    assert say("/budget set global daily 500") == (
        answer + "hermes telemetry budget set global daily 500"
    )
    assert not budget_file.exists()
    budget_file.write_text("budgets: {global: {daily_usd: 1}}\n")
    files = set(os.listdir(budget_file.parent))
    assert say("/budget set sender 'Ann B' daily 500") == (
        answer + "hermes telemetry budget set sender 'Ann B' daily 500"
    )
    assert budget_file.read_text() == "budgets: {global: {daily_usd: 1}}\n"
    assert set(os.listdir(budget_file.parent)) == files


def test_the_operators_command_stays_one_line(context: HostContext, home: HandMadeLedger) -> None:
    answer = asyncio.run(context.commands["budget"](f"set sender {'s' * 80} daily 5"))
    assert answer.splitlines()[-1] == (f"hermes telemetry budget set sender {'s' * 80} daily 5")
    answer = asyncio.run(context.commands["stats"](f"--json --profile '{'p ' * 60}'"))
    assert answer.splitlines() == [
        "--json is for a shell:",
        f"hermes telemetry stats --json --profile '{'p ' * 60}'",
    ]


def test_the_operators_command_names_the_profile(
    say: Slash, context: HostContext, home: HandMadeLedger
) -> None:
    context.profile_name = "work"
    assert say("/budget set global daily 5").splitlines()[-1] == (
        "hermes -p work telemetry budget set global daily 5"
    )


def test_a_chat_that_is_trusted_may_write(
    say: Slash, home: HandMadeLedger, budget_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_CHAT_WRITES", "0")
    assert say("/budget set global daily 5").startswith("Nothing was changed")
    monkeypatch.setenv("HERMES_TELEMETRY_CHAT_WRITES", "1")
    assert say("/budget set global daily 5") == "budget.yaml: global: $5.00 a day"
    assert say("/budget set sender anne daily 5").splitlines() == [
        "budget.yaml: sender anne: $5.00 a day",
        "no sender 'anne' is recorded: the limit applies once there is one",
    ]
    assert say("/budget set cron_job nightly monthly 8").splitlines()[0] == (
        "budget.yaml: cron job nightly: $8.00 a month"
    )
    assert say("/budget").startswith("Limits in budget.yaml:\n- global: $5.00 a day\n- cron job")


def test_setup_in_a_chat_follows_the_same_rule(
    say: Slash, hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = say("/setup pricing minimal budget default")
    assert answer.startswith("Nothing was changed: only the operator can do that")
    assert answer.endswith("\nhermes telemetry setup pricing minimal budget default")
    assert list(hermes_home.iterdir()) == []
    monkeypatch.setenv("HERMES_TELEMETRY_CHAT_WRITES", "1")
    first, second, *_ = say("/setup").splitlines()
    assert (first, second) == ("pricing.yaml: written", "budget.yaml: written")
    assert {file.name for file in (hermes_home / "telemetry").iterdir()} >= {
        "pricing.yaml",
        "budget.yaml",
    }


@pytest.fixture
def host_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Makes this process one of the host; what it is given is the host's command line, or None."""

    def be(cli: Any) -> None:
        plugins = ModuleType("hermes_cli.plugins")
        manager = type("PluginManager", (), {"_cli_ref": cli})()
        plugins.get_plugin_manager = lambda: manager  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "hermes_cli", ModuleType("hermes_cli"))
        monkeypatch.setitem(sys.modules, "hermes_cli.plugins", plugins)

    return be


def test_the_hosts_own_command_line_may_write_and_a_gateway_started_from_it_not(
    say: Slash,
    home: HandMadeLedger,
    budget_file: Path,
    host_of: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the command line leaves in the environment of all that it starts.
    monkeypatch.setenv("HERMES_INTERACTIVE", "1")
    host_of(None)
    assert say("/budget set global daily 5").startswith("Nothing was changed")
    host_of(object())
    assert say("/budget set global daily 5") == "budget.yaml: global: $5.00 a day"
    assert budget_file.exists()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/stats modles", "'modles' is not understood here"),
        ("/stats --from soon", "since: 'soon' is neither a date"),
        ("/stats --frm=2026", "/stats: unrecognized arguments: --frm=2026"),
        ("/stats models --json", "--json is for a shell: hermes telemetry stats models --json"),
        ("/stats --db /etc/passwd", "--db is for a shell: "),
        ("/budget sett", "/budget: argument ACTION: invalid choice: 'sett'"),
        ("/budget set global daily lots", "/budget set: argument USD: 'lots' is not an amount"),
        ("/budget forecast --scope cron_job", "say which cron_job with --id"),
        ("/stats it's", '"it\'s" is not understood here'),
        (f"/stats {'x' * 300}", f"'{'x' * 70}… is not understood here: name a report"),
        (f"/stats --profile {'x' * 300}", "summary: 30 days up to today (UTC), profile x"),
    ],
)
def test_what_is_not_understood_is_said_in_the_chat_and_nowhere_else(
    say: Slash, home: HandMadeLedger, capfd: Any, line: str, answer: str
) -> None:
    assert " ".join(say(line).split()).startswith(answer)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "line",
    [
        "/stats --help",
        "/budget -h",
        "/budget set --help",
        "/budget check --help",
        "/budget cron --help",
        "/budget forecast --help",
        "/setup --help",
    ],
)
def test_help_is_an_answer_too(say: Slash, home: HandMadeLedger, capfd: Any, line: str) -> None:
    name = line.rpartition(" ")[0]
    answer = say(line)
    assert answer.startswith(f"usage: {name} ")
    assert f"example:\n  {name}" in answer
    assert "hermes-telemetry" not in answer
    assert capfd.readouterr() == ("", "")


def test_a_ledger_that_cannot_be_read_is_an_answer(
    say: Slash, hermes_home: Path, caplog: Any
) -> None:
    folder = hermes_home / "telemetry"
    folder.mkdir()
    (folder / "telemetry.db").write_text("not a database")
    assert "cannot be read" in say("/stats")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_commands_that_cannot_be_loaded_are_an_answer(
    say: Slash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hermes_telemetry.commands.slash", None)
    assert say("/stats") == "/stats cannot be answered: ModuleNotFoundError"


def test_a_slow_query_leaves_the_event_loop_free(
    context: HostContext, home: HandMadeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.call("a", 0.5, "2026-07-01T10:00")
    # Before it answers it counts, which keeps SQLite busy for about two seconds.
    queries = dict(reports.load_queries())
    slow = queries["cost_by_provider"]
    counting = "with recursive n(i) as (select 1 union all select i + 1 from n limit 12000000)"
    queries[slow.name] = replace(
        slow,
        sql=f"select * from ({slow.sql}) where ({counting} select max(i) from n) > 0",
    )
    monkeypatch.setattr(reports, "load_queries", lambda: queries)

    async def ticks_while_it_answers() -> tuple[str, float, float]:
        """The answer, how long it took, and the longest time between two ticks of the loop."""
        began = time.monotonic()
        answer = asyncio.ensure_future(context.commands["stats"]("providers --from all"))
        last, longest = began, 0.0
        while not answer.done():
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        return await answer, time.monotonic() - began, longest

    answer, seconds, longest = asyncio.run(ticks_while_it_answers())
    assert answer.endswith("\nTotal: $0.50")
    assert seconds > 1
    # Far more than a tick takes on a busy machine, far less than the query.
    assert longest < seconds / 3


def test_a_chat_does_not_write_where_the_process_writes(
    say: Slash, home: HandMadeLedger, capfd: Any
) -> None:
    home.call("a", 0.5, "2026-07-01T10:00")
    for line in ("/stats", "/budget", "/budget cron", "/budget forecast"):
        assert say(line)
    assert capfd.readouterr() == ("", "")
