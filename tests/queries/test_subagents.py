"""subagent_turns, the guarded join, and subagent_join_health, its precondition."""

from support.ledger import HandMadeLedger, stored


def test_each_subagent_stands_beside_the_turn_that_started_it(ledger: HandMadeLedger) -> None:
    ledger.call("root", 1.0, "2026-06-30T10:00", "t1")
    # A second call of the turn must not repeat the edge.
    ledger.call("root", 2.0, "2026-06-30T10:20", "t1")
    ledger.call("root", None, "2026-06-30T10:30", "t1")
    ledger.edge(
        "child",
        "root",
        "t1",
        "2026-06-30T10:01",
        child_role="leaf",
        child_status="completed",
        stopped_at="2026-06-30T10:10",
    )
    ledger.edge("nested", "child", "t2", "2026-06-30T10:02", child_role="leaf")
    ledger.call("child", 4.0, "2026-06-30T10:03", "t2")
    ledger.call("nested", 8.0, "2026-06-30T10:04", "t3")
    ledger.call("nested", None, "2026-06-30T10:05", "t3")
    assert ledger.ask("subagent_turns") == [
        (
            *("nested", 8.0, "t2", 4.0, "child", "leaf", "open", 2),
            *(stored("2026-06-30T10:02"), 1, 8.0, 1, 0),
        ),
        (
            *("child", 4.0, "t1", 3.0, "root", "leaf", "completed", 1),
            *(stored("2026-06-30T10:01"), 0, 12.0, 1, 1),
        ),
    ]


def test_an_edge_without_a_turn_id_joins_nothing(ledger: HandMadeLedger) -> None:
    """Not even the calls without one."""
    for turn in ("", None):
        ledger.call("root", 1.0, turn=turn)
        ledger.edge(f"child of {turn!r}", "root", turn)
        ledger.call(f"child of {turn!r}", 2.0)
    assert ledger.ask("subagent_turns") == []


def test_a_turn_that_no_call_carries_has_no_cost(ledger: HandMadeLedger) -> None:
    ledger.edge("child", "root", "unseen")
    assert ledger.ask(
        "subagent_turns", "child_session_id child_usd parent_turn_usd child_calls child_subtree_usd"
    ) == [("child", None, None, 0, None)]


def test_edges_count_by_their_start_with_all_of_their_cost(ledger: HandMadeLedger) -> None:
    ledger.edge("early", "root", "t", "2026-06-30T09:59:59.999999")
    ledger.edge("within", "root", "t", "2026-06-30T10:00")
    ledger.edge("after", "root", "t", "2026-06-30T11:00")
    # A background child that outlives its parent's turn, and the window.
    ledger.call("within", 1.0, "2026-07-01T09:00")
    assert ledger.ask(
        "subagent_turns",
        "child_session_id child_usd",
        since="2026-06-30T10:00:00Z",
        until="2026-06-30T11:00:00Z",
    ) == [("within", 1.0)]


def test_nothing_said_means_thirty_days(ledger: HandMadeLedger) -> None:
    ledger.edge("old", "root", "t", "2026-06-01T23:59:59.999999")
    ledger.edge("new", "root", "t", "2026-06-02T00:00")
    assert ledger.ask("subagent_turns", "child_session_id") == [("new",)]
    assert ledger.ask("subagent_turns", "child_session_id", since="all") == [("new",), ("old",)]


def test_a_cycle_counts_each_session_once(ledger: HandMadeLedger) -> None:
    ledger.edge("b", "a", "ta", "2026-06-30T10:00")
    ledger.edge("a", "b", "tb", "2026-06-30T10:01")
    ledger.call("a", 1.0, turn="ta")
    ledger.call("b", 2.0, turn="tb")
    assert ledger.ask("subagent_turns", "child_session_id child_usd child_subtree_usd") == [
        ("a", 1.0, 3.0),
        ("b", 2.0, 3.0),
    ]


def test_a_profile_shows_the_subagents_of_its_roots(ledger: HandMadeLedger) -> None:
    ledger.run("mine", profile="work")
    ledger.run("theirs", profile="home")
    ledger.edge("my child", "mine", "t")
    ledger.edge("their child", "theirs", "u")
    assert ledger.ask("subagent_turns", "child_session_id", profile="work") == [("my child",)]


def test_under_a_profile_only_calls_of_it_are_summed(ledger: HandMadeLedger) -> None:
    ledger.run("root", profile="work")
    ledger.run("split", profile="home")
    ledger.run("child", profile="work")
    ledger.run("grandchild", profile="home")
    ledger.edge("child", "root", "t")
    ledger.edge("grandchild", "child", "u")
    ledger.call("root", 1.0, turn="t")
    ledger.call("split", 2.0, turn="t")
    ledger.call("split", None, turn="t")
    ledger.call("child", 4.0, turn="u")
    ledger.call("grandchild", 8.0)
    ledger.call("grandchild", None)
    columns = (
        "child_session_id child_usd child_subtree_usd parent_turn_usd"
        " child_subtree_unpriced_calls parent_turn_unpriced_calls"
    )
    assert ledger.ask("subagent_turns", columns, profile="work") == [("child", 4.0, 4.0, 1.0, 0, 0)]
    assert sorted(ledger.ask("subagent_turns", columns)) == [
        ("child", 4.0, 12.0, 3.0, 1, 1),
        ("grandchild", 8.0, 8.0, 4.0, 1, 0),
    ]


def test_of_more_than_a_thousand_subagents_the_newest_are_shown(ledger: HandMadeLedger) -> None:
    for number in range(1001):
        minute = f"2026-06-30T{number // 60:02}:{number % 60:02}"
        ledger.edge(f"c{number:04}", "root", "t", minute)
    rows = ledger.ask("subagent_turns", "child_session_id")
    assert len(rows) == 1000
    assert (rows[0], rows[-1]) == (("c1000",), ("c0001",))


# --- the precondition


def test_health_tells_edges_apart(ledger: HandMadeLedger) -> None:
    ledger.run("root")
    ledger.call("root", 1.0, turn="t1")
    ledger.call("root", 1.0, turn="")
    ledger.edge("joined", "root", "t1")
    ledger.edge("joined too", "root", "t1")
    ledger.edge("unjoined", "root", "unseen")
    ledger.edge("empty", "root", "")
    ledger.edge("null", "root", None)
    ledger.edge("orphan", "gone", "t1")
    # edges, with a turn id, joined, unjoined, without, orphans
    assert ledger.ask("subagent_join_health") == [(6, 4, 3, 1, 2, 1, 0.0, 0)]


def test_cost_that_hangs_on_no_tree_is_unattributed(ledger: HandMadeLedger) -> None:
    ledger.run("root")
    ledger.run("child", platform="subagent")
    ledger.run("lost", platform="subagent")
    ledger.run("orphan", platform="subagent")
    ledger.edge("child", "root", "t")
    ledger.edge("orphan", "gone", "t")
    # Below an orphan: its parent has a run.
    ledger.edge("below", "orphan", "t")
    costs = {"root": 1.0, "child": 2.0, "lost": 4.0, "orphan": 8.0, "below": 16.0}
    for session, usd in costs.items():
        ledger.call(session, usd)
    ledger.call("lost", None)
    assert ledger.ask("subagent_join_health", "orphans unattributed_usd unpriced_calls") == [
        (1, 12.0, 1)
    ]


def test_health_is_that_of_the_window(ledger: HandMadeLedger) -> None:
    ledger.run("root")
    for day, usd in (("06-29", 1.0), ("06-30", 2.0)):
        ledger.edge(f"orphan {day}", "gone", "t", f"2026-{day}T10:00")
        ledger.run(f"lost {day}", started=f"2026-{day}T10:00", platform="subagent")
        ledger.call(f"orphan {day}", usd, f"2026-{day}T10:00")
        # The cost of a session of the window, whenever it was spent.
        ledger.call(f"lost {day}", 10 * usd, "2026-06-28T10:00")
    columns = "edges orphans unattributed_usd"
    assert ledger.ask("subagent_join_health", columns) == [(2, 2, 33.0)]
    assert ledger.ask("subagent_join_health", columns, since="2026-06-30") == [(1, 1, 22.0)]
    assert ledger.ask("subagent_join_health", columns, until="2026-06-29") == [(1, 1, 11.0)]


def test_an_empty_ledger_is_healthy(ledger: HandMadeLedger) -> None:
    assert ledger.ask("subagent_join_health") == [(0, 0, 0, 0, 0, 0, 0.0, 0)]
    assert ledger.ask("subagent_turns", since="all") == []
