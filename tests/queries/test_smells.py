from typing import Any

import pytest

from support.ledger import HandMadeLedger, Row


def tools(ledger: HandMadeLedger, session: str, calls: int, failures: int = 0) -> None:
    """Calls of as many tools as calls, the first of which fail."""
    for number in range(calls):
        ledger.tool(session, f"tool {number}", ok=int(number >= failures))


def smells(ledger: HandMadeLedger, **parameters: str) -> list[Row]:
    return ledger.ask("smells", "session_id smell severity", **parameters)


@pytest.mark.parametrize(
    ("columns", "smells_so"),
    [
        # Over 1,000 tokens of input, output below a tenth.
        ({"tokens_in": 1001, "tokens_out": 100}, True),
        ({"tokens_in": 1000, "tokens_out": 99}, False),
        ({"tokens_in": 1010, "tokens_out": 101}, False),
        ({"tokens_in": 1011, "tokens_out": 101}, True),
        # Each kind of input is a part of the context.
        ({"tokens_in": 500, "cache_read_tokens": 501, "tokens_out": 100}, True),
        ({"tokens_in": 500, "cache_write_tokens": 501, "tokens_out": 100}, True),
        ({"cache_read_tokens": 1011, "tokens_out": 101}, True),
        ({"cache_read_tokens": 1010, "tokens_out": 101}, False),
        ({"tokens_in": 1001, "tokens_out": None}, True),
        ({"tokens_in": None, "tokens_out": None}, False),
    ],
)
def test_a_rotating_context(
    columns: dict[str, Any], smells_so: bool, ledger: HandMadeLedger
) -> None:
    ledger.run("a", **columns)
    assert smells(ledger) == [("a", "context_rotation", "high")] * smells_so


@pytest.mark.parametrize(
    ("of_one", "of_others", "smells_so"),
    [
        (10, 0, False),  # ten calls are not over ten
        (11, 0, True),
        (12, 3, False),  # 12 of 15 are 80 %
        (13, 3, True),
        (12, 2, True),
        (9, 3, False),
    ],
)
def test_a_loop(of_one: int, of_others: int, smells_so: bool, ledger: HandMadeLedger) -> None:
    ledger.run("a")
    tools(ledger, "a", of_others)
    for _ in range(of_one):
        ledger.tool("a", "terminal")
    assert smells(ledger) == [("a", "loop_trap", "medium")] * smells_so


@pytest.mark.parametrize(
    ("calls", "failures", "smells_so"),
    [
        (20, 20, False),  # twenty calls are not over twenty
        (21, 7, True),  # a third
        (21, 6, False),
        (30, 9, False),  # 30 %
        (30, 10, True),
    ],
)
def test_tools_that_fail(
    calls: int, failures: int, smells_so: bool, ledger: HandMadeLedger
) -> None:
    ledger.run("a")
    tools(ledger, "a", calls, failures)
    assert smells(ledger) == [("a", "tool_thrashing", "high")] * smells_so


def test_the_stop_of_a_subagent_is_no_tool(ledger: HandMadeLedger) -> None:
    ledger.run("a")
    for _ in range(10):
        ledger.tool("a", "terminal")
    for _ in range(90):
        ledger.tool("a", "delegate_task/subagent", ok=0)
    assert smells(ledger) == []


@pytest.mark.parametrize(
    ("failed", "sound", "severity"),
    [(1, 9, "warning"), (3, 7, "warning"), (4, 9, "high"), (4, 6, "high"), (1, 0, "high")],
)
def test_an_error_is_worse_when_over_30_percent_of_the_sessions_had_one(
    failed: int, sound: int, severity: str, ledger: HandMadeLedger
) -> None:
    for number in range(failed):
        ledger.run(f"bad {number}", status="error")
    for number in range(sound):
        ledger.run(f"good {number}", status=["ok", "running", "interrupted"][number % 3])
    assert smells(ledger) == [
        (f"bad {number}", "high_error_rate", severity) for number in range(failed)
    ]


def test_the_share_of_errors_is_that_of_the_window_and_the_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", "2026-06-30T10:00", status="error", profile="work")
    for number in range(3):
        ledger.run(f"home {number}", "2026-06-30T10:00", status="ok", profile="home")
        ledger.run(f"old {number}", "2026-06-20T10:00", status="ok", profile="work")
    # One of seven; of the profile's four; of the day's four; the only one of both.
    assert smells(ledger) == [("a", "high_error_rate", "warning")]
    assert smells(ledger, profile="work") == [("a", "high_error_rate", "warning")]
    assert smells(ledger, since="2026-06-30") == [("a", "high_error_rate", "warning")]
    assert smells(ledger, since="2026-06-30", profile="work") == [("a", "high_error_rate", "high")]


@pytest.mark.parametrize(
    ("columns", "smells_so"),
    [
        ({"tokens_in": 90_000, "tokens_out": 10_000}, False),
        ({"tokens_in": 90_000, "tokens_out": 10_001}, True),
        ({"cache_write_tokens": 90_000, "tokens_out": 10_001}, True),
        # A context that is read again and again from a cache is not a big one.
        ({"cache_read_tokens": 9_000_000, "tokens_out": 900_000}, True),
        ({"cache_read_tokens": 900_000, "tokens_out": 100_000}, False),
        ({"api_calls": 50}, False),
        ({"api_calls": 51}, True),
        ({"tokens_in": 90_000, "tokens_out": 10_001, "api_calls": 51}, True),
    ],
)
def test_a_massive_session(
    columns: dict[str, Any], smells_so: bool, ledger: HandMadeLedger
) -> None:
    ledger.run("a", **columns)
    assert smells(ledger) == [("a", "massive_session", "warning")] * smells_so


def test_no_smell_hides_another(ledger: HandMadeLedger) -> None:
    ledger.run("a", status="error", tokens_in=200_000, tokens_out=1, api_calls=60)
    for number in range(30):
        ledger.tool("a", "terminal", ok=number % 2)
    ledger.run("b", status="error")
    assert ledger.ask("smells", "session_id smell severity evidence") == [
        ("a", "high_error_rate", "high", "ended in an error, as 2 of 2 sessions did"),
        ("a", "tool_thrashing", "high", "15 of 30 tool calls failed"),
        ("b", "high_error_rate", "high", "ended in an error, as 2 of 2 sessions did"),
        ("a", "context_rotation", "high", "200,000 tokens in, 1 out"),
        ("a", "loop_trap", "medium", "30 of 30 tool calls are terminal"),
        ("a", "massive_session", "warning", "200,001 tokens, 60 calls"),
    ]


def test_the_newest_of_equals_first_and_what_is_known_of_the_session(
    ledger: HandMadeLedger,
) -> None:
    for session, day in (("old", "2026-06-20"), ("new", "2026-06-21"), ("older", "2026-01-01")):
        ledger.run(session, day, api_calls=51, status="ok", platform="cli", model="m", provider="p")
    assert [row[:1] + row[5:] for row in ledger.ask("smells")] == [
        ("new", "ok", "cli", "m", "p"),
        ("old", "ok", "cli", "m", "p"),
    ]
