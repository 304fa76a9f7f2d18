"""Costs by provider, platform, profile and sender; what is common to all is in
`test_cost_by_model`.
"""

import pytest

from support.ledger import HandMadeLedger

TRAITS = [("cost_by_profile", "profile"), ("cost_by_sender", "sender_id")]


def test_providers_by_cost_with_share_and_cache_hit_rate(ledger: HandMadeLedger) -> None:
    ledger.call("a", 2.0, provider="q", tokens_in=100, tokens_out=7, cache_read_tokens=800)
    ledger.call("a", 1.0, provider="q", tokens_in=50, tokens_out=3, cache_write_tokens=50)
    ledger.call("b", 1.0, provider="p", tokens_in=9, tokens_out=1)
    ledger.call("b", None, provider="p")
    # q: 800 of 100 + 50 fresh, 800 read, 50 written.
    assert ledger.ask("cost_by_provider") == [
        ("q", 3.0, 0.75, 2, 150, 10, 0.8, 0),
        ("p", 1.0, 0.25, 2, 9, 1, 0.0, 1),
    ]


def test_calls_without_a_provider_are_one_row(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, provider=None)
    ledger.call("a", 2.0, provider="")
    assert ledger.ask("cost_by_provider", "provider cost_usd calls") == [(None, 3.0, 2)]


def test_a_platform_is_that_of_the_session_itself(ledger: HandMadeLedger) -> None:
    ledger.run("a", platform="cli")
    ledger.run("b", platform="subagent")
    ledger.run("c", platform="")
    ledger.edge("b", "a")
    ledger.edge("c", "a")
    ledger.call("a", 4.0, tokens_in=30, tokens_out=1, cache_read_tokens=90)
    ledger.call("b", 2.0)
    ledger.call("c", 0.5)
    ledger.call("no run", 1.5)
    # a: 90 of 120 were read from the cache; the calls of the others have no tokens.
    assert ledger.ask("cost_by_platform") == [
        ("cli", 4.0, 0.5, 1, 30, 1, 0.75, 0),
        (None, 2.0, 0.25, 2, 0, 0, None, 0),
        ("subagent", 2.0, 0.25, 1, 0, 0, None, 0),
    ]


@pytest.mark.parametrize(("query", "column"), TRAITS)
def test_a_session_is_its_own_else_its_roots_else_nobodys(
    query: str, column: str, ledger: HandMadeLedger
) -> None:
    ledger.run("root", **{column: "ann"})
    ledger.run("between", **{column: "bob"})
    ledger.run("below", **{column: ""})
    ledger.run("alone")
    ledger.edge("between", "root")
    ledger.edge("below", "between")
    ledger.edge("without a run", "below")
    ledger.call("root", 1.0, tokens_in=10, tokens_out=4, cache_read_tokens=30)
    ledger.call("between", 2.0)
    # Its root is ann's, though the session above it is bob's.
    ledger.call("below", 4.0)
    ledger.call("without a run", 8.0)
    ledger.call("alone", None)
    ledger.call("unheard of", 1.0)
    assert ledger.ask(query) == [
        ("ann", 13.0, 0.8125, 3, 10, 4, 0.75, 0),
        ("bob", 2.0, 0.125, 1, 0, 0, None, 0),
        (None, 1.0, 0.0625, 2, 0, 0, None, 1),
    ]


@pytest.mark.parametrize(("query", "column"), TRAITS)
def test_a_cycle_has_no_root_and_an_orphans_root_is_unknown(
    query: str, column: str, ledger: HandMadeLedger
) -> None:
    ledger.run("one", **{column: "ann"})
    ledger.run("other")
    ledger.edge("one", "other")
    ledger.edge("other", "one")
    ledger.edge("hanging", "other")
    ledger.edge("orphan", "gone")
    for session in ("one", "other", "hanging", "orphan"):
        ledger.call(session, 1.0)
    assert ledger.ask(query, f"{column} cost_usd calls") == [(None, 3.0, 3), ("ann", 1.0, 1)]


def test_a_profile_that_is_asked_for_is_the_row_of_that_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work", sender_id="ann")
    ledger.run("b", profile="home", sender_id="bob")
    ledger.edge("c", "a")
    for session in ("a", "b", "c"):
        ledger.call(session, 1.0)
    assert ledger.ask("cost_by_profile", "profile cost_usd share", profile="work") == [
        ("work", 2.0, 1.0)
    ]
    assert ledger.ask("cost_by_sender", "sender_id cost_usd", profile="work") == [("ann", 2.0)]


def test_the_root_counts_though_it_called_outside_of_the_window(ledger: HandMadeLedger) -> None:
    ledger.run("root", "2026-01-01", sender_id="ann")
    ledger.call("root", 8.0, "2026-01-01")
    ledger.edge("child", "root", at="2026-01-01")
    ledger.call("child", 1.0, "2026-06-30T10:00")
    assert ledger.ask("cost_by_sender", "sender_id cost_usd") == [("ann", 1.0)]
