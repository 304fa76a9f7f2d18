from support.ledger import HandMadeLedger, stored

TURN = "turn_id cost_usd calls"


def test_a_turn_adds_up_its_calls_tools_and_failures(ledger: HandMadeLedger) -> None:
    ledger.call(
        "a",
        0.5,
        "2026-06-30T10:00",
        "t1",
        tokens_in=10,
        tokens_out=1,
        cache_read_tokens=100,
        cache_write_tokens=1000,
        reasoning_tokens=3,
        latency_ms=700,
    )
    ledger.call(
        "a",
        0.25,
        "2026-06-30T10:02",
        "t1",
        tokens_in=20,
        tokens_out=2,
        cache_read_tokens=200,
        cache_write_tokens=2000,
        reasoning_tokens=4,
        latency_ms=300,
    )
    ledger.tool("a", "terminal", "2026-06-30T10:01", "t1")
    ledger.tool("a", "read_file", "2026-06-30T10:01", "t1", ok=0)
    ledger.failure("a", "2026-06-30T09:59", "t1")
    # The neighbour's rows are its own.
    ledger.call("a", 4.0, "2026-06-30T11:00", "t2", latency_ms=1)
    ledger.tool("a", "terminal", "2026-06-30T11:01", "t2")
    assert ledger.ask("cost_per_turn")[1] == (
        *("t1", 0.75, 2, 2, 1, 30, 3, 300, 3000, 7, 1000, "a", stored("2026-06-30T10:00"), 0),
        *(None, 0.75, 0, 0),
    )


def test_the_newest_turn_comes_first(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-06-29T10:00", "first")
    ledger.call("b", 2.0, "2026-06-30T10:00", "second")
    assert ledger.ask("cost_per_turn", TURN) == [("second", 2.0, 1), ("first", 1.0, 1)]


def test_the_stop_of_a_subagent_is_no_tool(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, turn="t")
    ledger.call("b", 1.0)
    for session, turn in (("a", "t"), ("b", None)):
        ledger.tool(session, "delegate_task", turn=turn)
        ledger.tool(session, "delegate_task/subagent", turn=turn)
    assert ledger.ask("cost_per_turn", "turn_id tool_calls") == [(None, 1), ("t", 1)]


def test_calls_without_a_turn_stand_together_a_row_a_session(ledger: HandMadeLedger) -> None:
    ledger.call("old", 1.0, "2026-06-28T10:00")
    ledger.call("old", 2.0, "2026-06-29T10:00")
    ledger.call("old", 8.0, "2026-06-29T11:00", "t")
    ledger.call("older", 4.0, "2026-06-27T10:00", turn="")
    ledger.tool("old", "terminal", "2026-06-28T10:00")
    ledger.tool("old", "terminal", "2026-06-29T11:00", "t")
    ledger.failure("old", "2026-06-28T10:00")
    ledger.failure("older", "2026-06-27T10:00", turn="")
    assert ledger.ask(
        "cost_per_turn", "turn_id session_id cost_usd calls tool_calls failed_attempts started_at"
    ) == [
        ("t", "old", 8.0, 1, 1, 0, stored("2026-06-29T11:00")),
        (None, "old", 3.0, 2, 1, 1, stored("2026-06-28T10:00")),
        (None, "older", 4.0, 1, 0, 1, stored("2026-06-27T10:00")),
    ]


def test_calls_that_name_neither_turn_nor_session_stand_together(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-06-30T10:00", "t1")
    ledger.call("a", 2.0, "2026-06-30T11:00", "t2")
    ledger.call("", 64.0, "2026-06-30T12:00")
    ledger.tool("", "terminal", "2026-06-30T12:00")
    ledger.failure("", "2026-06-30T12:00")
    ledger.failure("a", "2026-06-30T10:00", "t1")
    assert ledger.ask(
        "cost_per_turn", "turn_id session_id cost_usd calls tool_calls failed_attempts"
    ) == [
        (None, "", 64.0, 1, 1, 1),
        ("t2", "a", 2.0, 1, 0, 0),
        ("t1", "a", 1.0, 1, 0, 1),
    ]


def test_a_turn_without_a_price_has_no_cost(ledger: HandMadeLedger) -> None:
    ledger.call("a", None, "2026-06-29T10:00", "unknown")
    ledger.call("a", 0.5, "2026-06-30T10:00", "half")
    ledger.call("a", None, "2026-06-30T10:01", "half")
    assert ledger.ask("cost_per_turn", "turn_id cost_usd unpriced_calls total_usd") == [
        ("half", 0.5, 1, 0.5),
        ("unknown", None, 1, None),
    ]


# --- window


def test_nothing_said_means_the_last_seven_local_days(ledger: HandMadeLedger) -> None:
    """At noon of 1 July the window opens at Madrid's midnight of 25 June, 22:00 UTC."""
    ledger.call("a", 1.0, "2026-06-24T21:59:59.999999", "before")
    ledger.call("a", 2.0, "2026-06-24T22:00:00", "within")
    assert ledger.ask("cost_per_turn", TURN, "Europe/Madrid") == [("within", 2.0, 1)]


def test_a_session_lifts_the_default_window(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2020-01-01T10:00", "old")
    ledger.call("a", 2.0, "2026-07-01T10:00", "new")
    ledger.call("b", 4.0, "2026-07-01T10:00", "other")
    assert ledger.ask("cost_per_turn", TURN, session_id="a") == [("new", 2.0, 1), ("old", 1.0, 1)]
    assert ledger.ask("cost_per_turn", TURN, session_id="a", since="2026-01-01") == [
        ("new", 2.0, 1)
    ]
    assert ledger.ask("cost_per_turn", TURN, session_id="a", until="2020-01-01") == [
        ("old", 1.0, 1)
    ]
    assert ledger.ask("cost_per_turn", TURN, session_id="absent") == []


def test_a_turn_across_the_bound_counts_what_lies_in_the_window(ledger: HandMadeLedger) -> None:
    for hour, usd in (("09:59:59.999999", 1.0), ("10:00:00", 2.0), ("11:00:00", 4.0)):
        ledger.call("a", usd, f"2026-06-30T{hour}", "t")
        ledger.tool("a", "terminal", f"2026-06-30T{hour}", "t")
        ledger.failure("a", f"2026-06-30T{hour}", "t")
    assert ledger.ask(
        "cost_per_turn",
        "turn_id cost_usd calls tool_calls failed_attempts started_at",
        since="2026-06-30T10:00:00Z",
        until="2026-06-30T11:00:00Z",
    ) == [("t", 2.0, 1, 1, 1, stored("2026-06-30T10:00"))]


def test_a_profile_shows_its_turns_alone(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    ledger.call("a", 1.0, turn="ta")
    ledger.call("b", 2.0, turn="tb")
    ledger.call("b", 4.0)
    assert ledger.ask("cost_per_turn", TURN, profile="work") == [("ta", 1.0, 1)]
    assert ledger.ask("cost_per_turn", TURN, profile="work", session_id="b") == []


def split_turn(ledger: HandMadeLedger) -> None:
    """One turn that a session of work began and a session of home went on with."""
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    for session, usd, minute in (("a", 1.0, "00"), ("b", 2.0, "01"), ("b", 4.0, "02")):
        ledger.call(session, usd, f"2026-06-30T10:{minute}", "t")
        ledger.tool(session, "terminal", f"2026-06-30T10:{minute}", "t")
        ledger.failure(session, f"2026-06-30T10:{minute}", "t")


SPLIT = "session_id cost_usd calls tool_calls failed_attempts"


def test_a_turn_that_ends_in_another_profile_is_shown_in_both(ledger: HandMadeLedger) -> None:
    split_turn(ledger)
    assert ledger.ask("cost_per_turn", SPLIT, profile="work") == [("a", 1.0, 1, 1, 1)]
    assert ledger.ask("cost_per_turn", SPLIT, profile="home") == [("b", 6.0, 2, 2, 2)]
    assert ledger.ask("cost_per_turn", SPLIT) == [("a", 7.0, 3, 3, 3)]


def test_a_session_counts_its_own_part_of_a_split_turn(ledger: HandMadeLedger) -> None:
    split_turn(ledger)
    assert ledger.ask("cost_per_turn", SPLIT, session_id="a") == [("a", 1.0, 1, 1, 1)]
    assert ledger.ask("cost_per_turn", SPLIT, session_id="b") == [("b", 6.0, 2, 2, 2)]


def test_of_more_than_a_thousand_turns_the_newest_are_shown_whole(ledger: HandMadeLedger) -> None:
    for number in range(1003):
        minute = f"2026-06-30T{number // 60:02}:{number % 60:02}"
        ledger.call("a", 1.0, f"{minute}:00", f"t{number:04}")
        ledger.call("a", 0.5, f"{minute}:30", f"t{number:04}")
    # A turn as old as the first that ends last is among the newest.
    ledger.call("a", 0.25, "2026-06-30T23:00", "t0000")
    rows = ledger.ask("cost_per_turn", TURN)
    assert len(rows) == 1000
    assert rows[0] == ("t1002", 1.5, 2)
    assert rows[-2:] == [("t0004", 1.5, 2), ("t0000", 1.75, 3)]


def test_turns_whose_calls_share_an_instant_are_shown_once(ledger: HandMadeLedger) -> None:
    for _ in range(3):
        ledger.call("a", 1.0, turn="t")
        ledger.call("b", 2.0)
    assert ledger.ask("cost_per_turn", TURN) == [(None, 6.0, 3), ("t", 3.0, 3)]


def test_a_turn_whose_session_was_split_belongs_to_the_first(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, "2026-06-30T10:00", "t")
    ledger.call("a-continued", 2.0, "2026-06-30T10:01", "t")
    assert ledger.ask("cost_per_turn", "session_id cost_usd") == [("a", 3.0)]
    assert ledger.ask("cost_per_turn", "session_id cost_usd", session_id="a") == [("a", 1.0)]


def test_an_empty_ledger_has_no_turns(ledger: HandMadeLedger) -> None:
    assert ledger.ask("cost_per_turn", since="all") == []


# --- what a turn delegated

DELEGATED = "turn_id cost_usd delegated_usd total_usd delegated_unpriced_calls"
COUNTS = "total_usd unpriced_calls delegated_unpriced_calls total_unpriced_calls"


def test_a_turn_answers_for_the_whole_tree_below_it(ledger: HandMadeLedger) -> None:
    ledger.call("root", 1.0, "2026-06-30T10:00", "t1")
    ledger.call("root", 2.0, "2026-06-30T12:00", "t2")
    ledger.edge("child", "root", "t1")
    ledger.edge("grandchild", "child", "tc")
    ledger.edge("late", "root", "t2")
    ledger.call("child", 4.0, "2026-06-30T10:10", "tc")
    # A background child that outlives its parent's turn.
    ledger.call("grandchild", 8.0, "2026-06-30T13:00", "tg")
    ledger.call("grandchild", None, "2026-06-30T13:01", "tg")
    ledger.call("late", 16.0, "2026-06-30T12:30", "tl")
    assert ledger.ask("cost_per_turn", DELEGATED, session_id="root") == [
        ("t2", 2.0, 16.0, 18.0, 0),
        ("t1", 1.0, 12.0, 13.0, 1),
    ]


def test_a_total_misses_what_either_part_misses(ledger: HandMadeLedger) -> None:
    ledger.edge("child", "root", "t")
    ledger.call("root", 1.0, turn="t")
    for session, calls in (("root", 1), ("child", 2)):
        for _ in range(calls):
            ledger.call(session, None, turn="t" if session == "root" else "u")
    assert ledger.ask("cost_per_turn", COUNTS, session_id="root") == [(1.0, 1, 2, 3)]


def test_a_subagent_of_another_profile_costs_its_own_profile(ledger: HandMadeLedger) -> None:
    ledger.run("root", profile="work")
    ledger.run("child", profile="home")
    ledger.edge("child", "root", "t")
    ledger.edge("grandchild", "child", "u")
    ledger.call("root", 1.0, "2026-06-30T10:00", "t")
    ledger.call("child", 2.0, "2026-06-30T11:00", "u")
    # Without a profile of its own it is of its root's.
    ledger.call("grandchild", 4.0, "2026-06-30T12:00", "v")
    assert ledger.ask("cost_per_turn", DELEGATED, profile="work") == [
        ("v", 4.0, None, 4.0, 0),
        ("t", 1.0, 4.0, 5.0, 0),
    ]
    assert ledger.ask("cost_per_turn", DELEGATED, profile="home") == [("u", 2.0, None, 2.0, 0)]


def test_a_subagent_below_both_sessions_of_a_split_turn_counts_once(
    ledger: HandMadeLedger,
) -> None:
    ledger.call("a", 1.0, "2026-06-30T10:00", "t")
    ledger.edge("child", "a", "t")
    ledger.edge("grandchild", "child", "t")
    ledger.call("child", 2.0, "2026-06-30T11:00")
    ledger.call("grandchild", 4.0, "2026-06-30T11:00")
    assert ledger.ask("cost_per_turn", DELEGATED, session_id="a") == [("t", 1.0, 6.0, 7.0, 0)]


def test_an_unpriced_turn_still_totals_what_it_delegated(ledger: HandMadeLedger) -> None:
    ledger.call("root", None, turn="t")
    ledger.edge("child", "root", "t")
    ledger.call("child", 4.0)
    assert ledger.ask("cost_per_turn", DELEGATED, session_id="root") == [("t", None, 4.0, 4.0, 0)]


def test_subagents_that_no_turn_started_are_no_turns_cost(ledger: HandMadeLedger) -> None:
    ledger.call("root", 1.0, turn="t")
    ledger.call("root", 2.0)
    ledger.edge("unknown", "root", "")
    ledger.edge("older", "root", None)
    ledger.call("unknown", 4.0)
    ledger.call("older", 8.0)
    assert ledger.ask("cost_per_turn", DELEGATED, session_id="root") == [
        (None, 2.0, None, 2.0, 0),
        ("t", 1.0, None, 1.0, 0),
    ]


def test_in_a_cycle_no_session_counts_twice(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, turn="ta")
    ledger.call("b", 2.0, turn="tb")
    ledger.edge("b", "a", "ta")
    ledger.edge("a", "b", "tb")
    ledger.edge("self", "self", "ts")
    ledger.call("self", 4.0, turn="ts")
    assert sorted(ledger.ask("cost_per_turn", DELEGATED)) == [
        ("ta", 1.0, 2.0, 3.0, 0),
        ("tb", 2.0, 1.0, 3.0, 0),
        ("ts", 4.0, None, 4.0, 0),
    ]


def test_delegated_calls_count_by_their_own_time(ledger: HandMadeLedger) -> None:
    ledger.call("root", 1.0, "2026-06-30T10:00", "t")
    ledger.edge("child", "root", "t")
    ledger.call("child", 2.0, "2026-06-30T10:30")
    ledger.call("child", 4.0, "2026-06-30T11:00")
    assert ledger.ask(
        "cost_per_turn", DELEGATED, session_id="root", until="2026-06-30T11:00:00Z"
    ) == [("t", 1.0, 2.0, 3.0, 0)]
