from support.ledger import HandMadeLedger


def test_tools_by_failures(ledger: HandMadeLedger) -> None:
    for ok, latency in ((1, 10), (0, 20), (1, None), (0, 60)):
        ledger.tool("a", "terminal", ok=ok, latency_ms=latency)
    ledger.tool("b", "patch", ok=0)
    ledger.tool("b", "read_file", latency_ms=4)
    ledger.tool("b", "read_file", latency_ms=4)
    assert ledger.ask("tool_reliability") == [
        # The one without a latency is in no mean: (10 + 20 + 60) / 3.
        ("terminal", 0.5, 4, 2, 30.0, 60),
        ("patch", 1.0, 1, 1, None, None),
        ("read_file", 0.0, 2, 0, 4.0, 4),
    ]


def test_the_stop_of_a_subagent_is_no_tool(ledger: HandMadeLedger) -> None:
    ledger.tool("a", "delegate_task", ok=1)
    ledger.tool("a", "delegate_task/subagent", ok=0)
    assert ledger.ask("tool_reliability", "tool_name calls failures") == [("delegate_task", 1, 0)]


def test_the_window_and_the_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.tool("a", "terminal", "2026-06-30T10:00")
    ledger.tool("b", "terminal", "2026-06-30T10:00")
    ledger.tool("a", "terminal", "2026-05-01T10:00")
    assert ledger.ask("tool_reliability", "calls") == [(2,)]
    assert ledger.ask("tool_reliability", "calls", profile="work") == [(1,)]
    assert ledger.ask("tool_reliability", "calls", since="all", profile="work") == [(2,)]
