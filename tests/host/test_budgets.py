"""Limits in a real host: a tool that is blocked in the middle of a turn, a notice that the model
reads, a cron job that does not start again.
"""

import json
from typing import Any

import pytest

from support.host import Host, StartHost, nano
from support.provider import Request, Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# In micro-dollars: 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 and 100 * 3 + 1200 * 0.30 + 8 * 15 = 780.
ASKING = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
ANSWERING = Usage(prompt=1300, cached=1200, output=8, reasoning=0)

TIDYING = ToolCall("call_tidy", "terminal", {"command": "touch tidied"})


def limit(host: Host, **budgets: Any) -> None:
    """Write `budget.yaml` with these limits; JSON is YAML."""
    text = json.dumps({"budgets": budgets, "timezone": "Pacific/Kiritimati"})
    (host.telemetry / "budget.yaml").write_text(text)


def tool_result(request: Request) -> str:
    """What the model is told of the tool that it asked for."""
    (told,) = [m["content"] for m in request.body["messages"] if m["role"] == "tool"]
    return str(told)


@pytest.fixture(scope="module")
def broken(start_host: StartHost) -> Host:
    """A turn whose first call, of 1,410 micro-dollars, spends all that the agent has for a day."""
    host = start_host()
    limit(host, **{"global": {"daily_usd": 0.001}})
    host.provider.answer("tidy up", ToolCalls((TIDYING,), ASKING), Text("I may not", ANSWERING))
    finished = host.run("chat", "-Q", "-q", "tidy up")
    assert (finished.returncode, "I may not" in finished.stdout) == (0, True)
    return host


def test_the_next_tool_of_a_turn_that_breaks_its_budget_does_not_run(broken: Host) -> None:
    assert not (broken.folder / "tidied").exists()
    told = tool_result(broken.provider.scripted[1])
    assert "This agent as a whole has spent $0.0014 of its daily limit of $0.0010" in told
    assert "00:00 (Pacific/Kiritimati)" in told
    assert "ask the operator" in told
    assert "hermes" not in told


def test_the_run_ends_by_itself_and_the_ledger_shows_why(broken: Host) -> None:
    run = broken.one("select * from runs")
    assert (run["status"], run["api_calls"], run["tool_calls"]) == ("ok", 2, 1)
    assert run["cost_usd"] == nano(0.001410 + 0.000780)
    assert broken.rows("select tool_name, ok, tool_call_id from tool_calls") == [
        ("terminal", 0, "call_tidy")
    ]
    alert = broken.one("select * from budget_alerts")
    assert (alert["scope"], alert["scope_id"], alert["window"]) == ("global", "", "daily")
    assert (alert["level"], alert["spent_usd"], alert["limit_usd"]) == (
        "hard",
        nano(0.001410),
        0.001,
    )
    ((first,), (last,)) = broken.rows("select ts from llm_calls order by ts")
    assert first < alert["fired_at"] < last


def test_a_soft_notice_reaches_the_model_once(start_host: StartHost) -> None:
    host = start_host()
    # Four fifths of 1,700 are 1,360 micro-dollars: the first turn's 1,410 are more.
    limit(host, **{"global": {"monthly_usd": 0.0017}})
    host.provider.answer("say hello", Text("hello", ASKING), *[Text("hello", None)] * 2)
    assert host.run("chat", "-Q", "-q", "say hello").returncode == 0
    noted = host.one("select * from budget_alerts")
    assert (noted["window"], noted["level"]) == ("monthly", "soft")
    for _ in range(2):  # the process that crossed it is gone
        assert host.run("chat", "-Q", "-q", "say hello").returncode == 0
    asked = ["\n".join(request.user_texts) for request in host.provider.scripted]
    notice = "Budget: this agent as a whole has spent $0.0014 of its monthly limit of $0.0017"
    assert [text.count(notice) for text in asked] == [0, 1, 0]
    assert host.one("select * from budget_alerts") == noted


def test_a_cron_job_over_its_limit_is_blocked_and_paused_in_the_hosts_list(
    start_host: StartHost,
) -> None:
    host = start_host()
    limit(host, per_cron_job={"overrides": {"nightly": {"daily_usd": 0.001}}})
    host.provider.answer(
        "tidy the inbox", ToolCalls((TIDYING,), ASKING), Text("I may not", ANSWERING)
    )
    host.run(
        *("cron", "create", "0 9 * * *", "tidy the inbox", "--name", "nightly"),
        *("--deliver", "local"),
    )
    jobs = host.home / "cron" / "jobs.json"
    (job,) = json.loads(jobs.read_text())["jobs"]
    assert (job["enabled"], job["state"]) == (True, "scheduled")

    assert host.run("cron", "run", job["id"]).returncode == 0

    assert "The cron job nightly has spent $0.0014" in tool_result(host.provider.scripted[1])
    (job,) = json.loads(jobs.read_text())["jobs"]
    assert (job["enabled"], job["state"]) == (False, "paused")
    assert "The cron job nightly has spent $0.0014 of its daily" in job["paused_reason"]
    assert sorted(host.rows("select scope, scope_id, window, level from budget_alerts")) == [
        ("cron_job", job["id"], "daily", "hard"),
        ("cron_job", job["id"], "daily", "paused"),
    ]
