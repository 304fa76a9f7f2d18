import pytest

from support.ledger import HandMadeLedger


def test_each_percentile_is_a_latency_that_occurred(ledger: HandMadeLedger) -> None:
    # 1 to 200 ms in no order: 37 is prime to 200. The 100th, 180th and 198th in order.
    for number in range(200):
        ledger.call("a", 0.5, model="m", latency_ms=number * 37 % 200 + 1)
    assert ledger.ask("latency_percentiles") == [("m", 100, 180, 198, "model", 200, 200)]


@pytest.mark.parametrize(
    ("latencies", "percentiles"),
    [
        ([7], (7, 7, 7)),
        # Half of two is one, 90 and 99 % take both.
        ([7, 9], (7, 9, 9)),
        ([7, 9, 11], (9, 11, 11)),
        # Nine of ten are 90 %; that the last is far out shows in the 99th alone.
        ([5] * 9 + [900], (5, 5, 900)),
        ([5] * 99 + [900], (5, 5, 5)),
        ([5] * 98 + [900] * 2, (5, 5, 900)),
        ([0, 0, 3], (0, 3, 3)),
    ],
)
def test_few_and_equal_latencies(
    latencies: list[int], percentiles: tuple[int, ...], ledger: HandMadeLedger
) -> None:
    for latency in latencies:
        ledger.tool("a", "terminal", latency_ms=latency)
    assert ledger.ask("latency_percentiles", "p50_ms p90_ms p99_ms") == [percentiles]


def test_models_first_then_tools_the_slowest_first(ledger: HandMadeLedger) -> None:
    for model, latency in (("quick", 10), ("slow", 90), ("slow", 70)):
        ledger.call("a", 0.5, model=model, latency_ms=latency)
    ledger.tool("a", "slow", latency_ms=5)
    ledger.tool("a", "slower", latency_ms=8)
    assert ledger.ask("latency_percentiles", "name kind p50_ms calls") == [
        ("slow", "model", 70, 2),
        ("quick", "model", 10, 1),
        ("slower", "tool", 8, 1),
        ("slow", "tool", 5, 1),
    ]


def test_what_has_no_latency_and_the_stop_of_a_subagent_do_not_count(
    ledger: HandMadeLedger,
) -> None:
    ledger.call("a", 0.5)
    ledger.call("a", 0.5, latency_ms=10)
    ledger.call("a", 0.5, model="untimed")
    ledger.tool("a", "terminal")
    ledger.tool("a", "delegate_task/subagent", latency_ms=60_000)
    assert ledger.ask("latency_percentiles", "name calls") == [("m", 1)]


def test_a_week_and_a_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    for session, at, latency in (
        ("a", "2026-06-25T00:00", 20),
        ("b", "2026-06-25T00:00", 40),
        ("a", "2026-06-24T23:59", 80),
    ):
        ledger.call(session, 0.5, at, latency_ms=latency)
        ledger.tool(session, "terminal", at, latency_ms=latency)
    longest = "name longest_ms"
    assert ledger.ask("latency_percentiles", longest) == [("m", 40), ("terminal", 40)]
    assert ledger.ask("latency_percentiles", longest, profile="work") == [
        ("m", 20),
        ("terminal", 20),
    ]
    assert ledger.ask("latency_percentiles", longest, since="all") == [("m", 80), ("terminal", 80)]
