"""A Mixture-of-Agents preset: a reference model advises, an aggregator acts and is billed."""

import pytest

from support.host import Host, StartHost, nano
from support.provider import Text, ToolCall, ToolCalls, Usage

pytestmark = pytest.mark.host

# By the aggregator's prices, in micro-dollars: 200 * 10 + 1000 * 1 + 34 * 50 = 4700 and
# 100 * 10 + 1200 * 1 + 8 * 50 = 2600.
ASKING = Usage(prompt=1200, cached=1000, output=34, reasoning=10)
ANSWERING = Usage(prompt=1300, cached=1200, output=8, reasoning=0)


@pytest.fixture(scope="module")
def mixture(start_host: StartHost) -> Host:
    """One tool turn by the preset `pair`, with `fake-reference` and `fake-aggregator`."""
    host = start_host()
    reference = {"provider": "custom", "model": "fake-reference"}
    aggregator = {"provider": "custom", "model": "fake-aggregator"}
    pair = {"reference_models": [reference], "aggregator": aggregator}
    host.configure(moa={"presets": {"pair": pair}})
    weighing = ToolCall("call_weigh", "terminal", {"command": "echo 5 kg"})
    host.provider.answer("weigh it", ToolCalls((weighing,), ASKING), Text("5 kg", ANSWERING))
    finished = host.run("chat", "-Q", "--provider", "moa", "-m", "pair", "-q", "weigh it")
    assert finished.returncode == 0
    assert [request.model for request in host.provider.scripted] == ["fake-aggregator"] * 2
    return host


def test_calls_are_recorded_under_the_aggregator_and_name_the_preset(mixture: Host) -> None:
    assert mixture.rows(
        "select model, provider, moa_preset, provider_assumed, tokens_in, tokens_out, cost_usd"
        " from llm_calls order by id"
    ) == [
        ("fake-aggregator", "custom", "pair", 0, 200, 34, nano(0.0047)),
        ("fake-aggregator", "custom", "pair", 0, 100, 8, nano(0.0026)),
    ]


def test_the_run_counts_its_mixture_calls(mixture: Host) -> None:
    run = mixture.one("select * from runs")
    assert (run["status"], run["api_calls"], run["moa_calls"], run["tool_calls"]) == ("ok", 2, 2, 1)
    assert run["cost_usd"] == nano(0.0073)


def test_what_the_references_spent_is_invisible(mixture: Host) -> None:
    """The host calls no hook for them: the cost of a mixture is a lower bound."""
    assert {request.model for request in mixture.provider.asides} == {"fake-reference"}
    assert mixture.rows("select count(*) from llm_calls where model = 'fake-reference'") == [(0,)]
