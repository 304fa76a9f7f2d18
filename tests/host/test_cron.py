"""A cron job that the host runs by itself: its cost belongs to the job."""

import json
import re

import pytest

from support.host import Host, StartHost, nano
from support.provider import Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# In micro-dollars: 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410 and 100 * 3 + 1200 * 0.30 + 8 * 15 = 780.
ASKING = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
ANSWERING = Usage(prompt=1300, cached=1200, output=8, reasoning=0)


@pytest.fixture(scope="module")
def nightly(start_host: StartHost) -> tuple[Host, str]:
    """A job made by `hermes cron create` and run once by `hermes cron run`, and its id."""
    host = start_host()
    tidying = ToolCall("call_tidy", "terminal", {"command": "echo tidy"})
    host.provider.answer("tidy the inbox", ToolCalls((tidying,), ASKING), Text("tidied", ANSWERING))
    made = host.run(
        *("cron", "create", "0 9 * * *", "tidy the inbox", "--name", "nightly"),
        *("--deliver", "local"),
    )
    assert made.returncode == 0
    (job,) = json.loads((host.home / "cron" / "jobs.json").read_text())["jobs"]
    assert not host.ledger.exists(), "making a job is no run"
    finished = host.run("cron", "run", job["id"])
    assert (finished.returncode, "succeeded" in finished.stdout) == (0, True)
    return host, job["id"]


def test_the_run_names_its_cron_job(nightly: tuple[Host, str]) -> None:
    host, job = nightly
    run = host.one("select * from runs")
    assert re.fullmatch(rf"cron_{job}_\d{{8}}_\d{{6}}", run["session_id"])
    assert (run["cron_job_id"], run["platform"]) == (job, "cron")


def test_the_run_is_complete_though_the_host_never_finalizes_it(nightly: tuple[Host, str]) -> None:
    host, _ = nightly
    run = host.one("select * from runs")
    assert (run["status"], run["api_calls"], run["tool_calls"]) == ("ok", 2, 1)
    assert run["started_at"] < run["ended_at"]
    assert run["cost_usd"] == nano(0.001410 + 0.000780)
    assert host.rows("select tokens_in, tokens_out from llm_calls order by id") == [
        (200, 34),
        (100, 8),
    ]


def test_its_calls_and_tools_belong_to_one_turn_of_its_session(nightly: tuple[Host, str]) -> None:
    host, _ = nightly
    session = host.one("select session_id from runs")["session_id"]
    ((turn, first),) = host.rows("select distinct turn_id, session_id from llm_calls")
    assert (first, turn.startswith(f"{session}:")) == (session, True)
    assert host.rows("select session_id, turn_id, tool_call_id, ok from tool_calls") == [
        (session, turn, "call_tidy", 1)
    ]
