from support.ledger import HandMadeLedger


def test_a_tree_is_shown_depth_first_in_the_order_of_starts(ledger: HandMadeLedger) -> None:
    ledger.run("root")
    ledger.edge(
        "second",
        "root",
        "t1",
        "2026-06-30T10:05",
        child_role="leaf",
        child_status="failed",
        stopped_at="2026-06-30T10:06",
    )
    ledger.edge(
        "first",
        "root",
        "t1",
        "2026-06-30T10:00",
        child_role="orchestrator",
        child_status="completed",
        stopped_at="2026-06-30T11:00",
    )
    # Still at work, and without a turn id.
    ledger.edge("nested", "first", "", "2026-06-30T10:10", child_role="leaf")
    ledger.edge("stranger", "elsewhere", "t9", "2026-06-30T10:00")
    ledger.call("root", 1.0)
    ledger.call("first", 2.0)
    ledger.call("first", None)
    ledger.call("nested", 4.0)
    ledger.call("nested", 8.0)
    ledger.call("stranger", 64.0)
    assert ledger.ask("delegation_tree", session_id="root") == [
        ("root", 15.0, 1.0, 0, "root", None, None, 1, 0, 1),
        ("root > first", 14.0, 2.0, 1, "first", "orchestrator", "completed", 2, 1, 1),
        ("root > first > nested", 12.0, 12.0, 2, "nested", "leaf", "open", 2, 0, 0),
        ("root > second", None, None, 1, "second", "leaf", "failed", 0, 0, 0),
    ]


def test_a_tree_may_begin_below_a_root(ledger: HandMadeLedger) -> None:
    ledger.edge("child", "root", "t")
    ledger.edge("grandchild", "child", "u")
    ledger.call("root", 1.0)
    ledger.call("grandchild", 2.0)
    assert ledger.ask("delegation_tree", "path subtree_usd own_usd", session_id="child") == [
        ("child", 2.0, None),
        ("child > grandchild", 2.0, 2.0),
    ]


def test_a_child_that_outlives_its_parents_turn_belongs_to_the_tree(
    ledger: HandMadeLedger,
) -> None:
    ledger.call("root", 1.0, "2026-06-30T10:00", "t")
    ledger.edge("child", "root", "t", "2026-06-30T10:00")
    ledger.call("child", 2.0, "2026-07-20T10:00")
    assert ledger.ask("delegation_tree", "subtree_usd", session_id="root") == [(3.0,), (2.0,)]


def test_a_cycle_ends_where_it_began(ledger: HandMadeLedger) -> None:
    ledger.edge("b", "a", "t", "2026-06-30T10:00")
    ledger.edge("c", "b", "u", "2026-06-30T10:01")
    ledger.edge("a", "c", "v", "2026-06-30T10:02")
    ledger.edge("leaf", "b", "u", "2026-06-30T10:03")
    for session, usd in (("a", 1.0), ("b", 2.0), ("c", 4.0), ("leaf", 8.0)):
        ledger.call(session, usd)
    assert ledger.ask("delegation_tree", "path subtree_usd", session_id="a") == [
        ("a", 15.0),
        ("a > b", 14.0),
        ("a > b > c", 4.0),
        ("a > b > leaf", 8.0),
    ]


def test_a_session_that_is_its_own_parent_is_a_tree_of_one(ledger: HandMadeLedger) -> None:
    ledger.edge("a", "a", "t")
    ledger.call("a", 1.0)
    assert ledger.ask("delegation_tree", "path subtree_usd", session_id="a") == [("a", 1.0)]


def test_an_orphans_parent_shows_its_children_without_a_cost_of_its_own(
    ledger: HandMadeLedger,
) -> None:
    ledger.edge("child", "gone", "t")
    ledger.call("child", 1.0)
    assert ledger.ask("delegation_tree", "path subtree_usd own_usd", session_id="gone") == [
        ("gone", 1.0, None),
        ("gone > child", 1.0, 1.0),
    ]


def test_a_session_alone_is_a_tree(ledger: HandMadeLedger) -> None:
    ledger.run("quiet")
    ledger.call("rowless", 1.0)
    assert ledger.ask("delegation_tree", "path own_usd calls", session_id="quiet") == [
        ("quiet", None, 0)
    ]
    assert ledger.ask("delegation_tree", "path own_usd calls", session_id="rowless") == [
        ("rowless", 1.0, 1)
    ]


def test_a_child_of_which_nothing_else_is_known_is_a_tree_of_one(ledger: HandMadeLedger) -> None:
    ledger.edge("child", "gone", "t")
    assert ledger.ask("delegation_tree", session_id="child") == [
        ("child", None, None, 0, "child", None, None, 0, 0, 0)
    ]


def test_no_session_gives_no_rows(ledger: HandMadeLedger) -> None:
    ledger.run("")
    ledger.edge("child", "", "t")
    assert ledger.ask("delegation_tree") == []
    assert ledger.ask("delegation_tree", session_id="absent") == []
