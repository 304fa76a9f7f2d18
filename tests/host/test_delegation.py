"""A turn that hands work to a subagent, which runs inline under `hermes -z`."""

from typing import Any

import pytest

from support.host import Host, StartHost, milliseconds, nano
from support.provider import Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# In micro-dollars: 200 * 3 + 1000 * 0.30 + 34 * 15 = 1410, 300 * 3 + 500 * 0.30 + 20 * 15 = 1350,
# 100 * 3 + 800 * 0.30 + 10 * 15 = 690 and 250 * 3 + 1250 * 0.30 + 6 * 15 = 1215.
DELEGATING = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
CHILD_ASKING = Usage(prompt=800, cached=500, output=20, reasoning=0)
CHILD_ANSWERING = Usage(prompt=900, cached=800, output=10, reasoning=0)
CONCLUDING = Usage(prompt=1500, cached=1250, output=6, reasoning=0)


@pytest.fixture(scope="module")
def delegation(start_host: StartHost) -> Host:
    """The parent delegates, the child runs one command and answers, the parent concludes."""
    host = start_host()
    goal = ToolCall("call_goal", "delegate_task", {"goal": "count the lines", "context": "none"})
    counting = ToolCall("call_count", "terminal", {"command": "echo 3"})
    host.provider.answer(
        "please hand it over", ToolCalls((goal,), DELEGATING), Text("all done", CONCLUDING)
    )
    host.provider.answer(
        "count the lines",
        ToolCalls((counting,), CHILD_ASKING, delay=0.2),
        Text("3 lines", CHILD_ANSWERING),
    )
    finished = host.run("-z", "please hand it over")
    assert (finished.returncode, finished.stdout.strip()) == (0, "all done")
    return host


@pytest.fixture(scope="module")
def parent(delegation: Host) -> dict[str, Any]:
    return delegation.one("select * from runs where platform = 'cli'")


@pytest.fixture(scope="module")
def child(delegation: Host) -> dict[str, Any]:
    return delegation.one("select * from runs where platform = 'subagent'")


def test_parent_and_child_are_runs_of_their_own(
    parent: dict[str, Any], child: dict[str, Any]
) -> None:
    columns = ("status", "api_calls", "tool_calls", "tokens_in", "tokens_out", "cache_read_tokens")
    assert [parent[c] for c in columns] == ["ok", 2, 1, 200 + 250, 34 + 6, 1000 + 1250]
    assert [child[c] for c in columns] == ["ok", 2, 1, 300 + 100, 20 + 10, 500 + 800]
    assert parent["cost_usd"] == nano(0.001410 + 0.001215)
    assert child["cost_usd"] == nano(0.001350 + 0.000690)
    # The tree lives in the edges; the column is a relic of the format.
    assert (parent["parent_session_id"], child["parent_session_id"]) == (None, None)


def test_the_edge_names_the_turn_that_delegated(
    delegation: Host, parent: dict[str, Any], child: dict[str, Any]
) -> None:
    edge = delegation.one("select * from subagent_edges")
    (turn,) = delegation.rows(
        "select distinct turn_id from llm_calls where session_id = ?", parent["session_id"]
    )
    assert edge["parent_session_id"] == parent["session_id"]
    assert edge["child_session_id"] == child["session_id"]
    assert edge["parent_turn_id"] == turn[0]
    assert (edge["child_role"], edge["child_status"]) == ("leaf", "completed")
    assert edge["parent_subagent_id"] is None
    # The host names the child's task after the subagent.
    assert delegation.rows(
        "select distinct task_id from llm_calls where session_id = ?", child["session_id"]
    ) == [(edge["child_subagent_id"],)]


def test_the_edge_is_open_while_the_child_works(delegation: Host, child: dict[str, Any]) -> None:
    edge = delegation.one("select * from subagent_edges")
    first, last = delegation.one(
        "select min(ts), max(ts) from llm_calls where session_id = ?", child["session_id"]
    ).values()
    assert edge["started_at"] < first <= last < edge["stopped_at"]
    assert milliseconds(edge["started_at"], edge["stopped_at"]) >= 200


def test_the_stop_leaves_a_proxy_row_that_no_run_counts(
    delegation: Host, parent: dict[str, Any], child: dict[str, Any]
) -> None:
    assert delegation.rows(
        "select session_id, tool_name, ok, tool_call_id from tool_calls order by id"
    ) == [
        (child["session_id"], "terminal", 1, "call_count"),
        (parent["session_id"], "delegate_task/subagent", 1, None),
        (parent["session_id"], "delegate_task", 1, "call_goal"),
    ]
    proxy, real = delegation.rows(
        "select latency_ms from tool_calls where session_id = ? order by id", parent["session_id"]
    )
    assert 200 <= proxy[0] <= real[0]


def test_both_sessions_agree_with_the_hosts_own_count(delegation: Host) -> None:
    own = delegation.own_count(
        "select id, input_tokens, output_tokens, cache_read_tokens, api_call_count"
        " from sessions order by id"
    )
    assert len(own) == 2
    assert (
        delegation.rows(
            "select session_id, tokens_in, tokens_out, cache_read_tokens, api_calls"
            " from runs order by session_id"
        )
        == own
    )
