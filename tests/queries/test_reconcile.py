from support.ledger import HandMadeLedger


def test_runs_that_add_up_are_not_shown(ledger: HandMadeLedger) -> None:
    ledger.run("sound", cost_usd=0.75, api_calls=3)
    ledger.call("sound", 0.5)
    ledger.call("sound", 0.25)
    ledger.call("sound", None)
    ledger.run("quiet", cost_usd=0.0, api_calls=0)
    ledger.run("older build", cost_usd=None, api_calls=None)
    # Rounding of a long sum is no difference.
    ledger.run("long", cost_usd=0.3, api_calls=2)
    ledger.call("long", 0.1)
    ledger.call("long", 0.2)
    assert ledger.ask("reconcile", since="all") == []


def test_runs_that_differ_are_shown_the_largest_difference_first(ledger: HandMadeLedger) -> None:
    ledger.run("too much", cost_usd=1.0, api_calls=1)
    ledger.call("too much", 0.5)
    ledger.run("too little", cost_usd=0.0, api_calls=2)
    ledger.call("too little", 2.0)
    ledger.call("too little", None)
    ledger.run("a call missing", cost_usd=0.25, api_calls=2)
    ledger.call("a call missing", 0.25)
    ledger.run("all calls missing", cost_usd=0.125, api_calls=1)
    ledger.run("a nano-dollar", cost_usd=0.000000002, api_calls=1)
    ledger.call("a nano-dollar", 0.0)
    assert ledger.ask("reconcile") == [
        ("too little", -2.0, 0.0, 2.0, 2, 2, 1),
        ("too much", 0.5, 1.0, 0.5, 1, 1, 0),
        ("all calls missing", 0.125, 0.125, None, 1, 0, 0),
        ("a nano-dollar", 0.000000002, 0.000000002, 0.0, 1, 1, 0),
        ("a call missing", 0.0, 0.25, 0.25, 2, 1, 0),
    ]


def test_a_run_that_differs_by_a_call_alone_differs_by_no_money(ledger: HandMadeLedger) -> None:
    # In floats 0.1 + 0.2 is more than 0.3.
    ledger.run("a call too many", cost_usd=0.3, api_calls=3)
    ledger.call("a call too many", 0.1)
    ledger.call("a call too many", 0.2)
    show = "difference_usd run_calls calls"
    assert ledger.ask("reconcile", show) == [(0.0, 3, 2)]


def test_a_run_that_counts_no_calls_differs_by_those_it_has(ledger: HandMadeLedger) -> None:
    ledger.run("older build", cost_usd=None, api_calls=None)
    ledger.call("older build", None)
    assert ledger.ask("reconcile") == [("older build", 0.0, None, None, None, 1, 1)]


def test_calls_without_a_run_differ_from_nothing(ledger: HandMadeLedger) -> None:
    ledger.call("lost", 1.0, "2026-06-30T10:00")
    ledger.call("lost", None, "2026-06-30T11:00")
    assert ledger.ask("reconcile") == [("lost", -1.0, None, 1.0, None, 2, 1)]


def test_calls_without_a_run_count_by_the_first_of_them(ledger: HandMadeLedger) -> None:
    ledger.call("lost", 1.0, "2026-06-29T23:59:59.999999")
    ledger.call("lost", 2.0, "2026-06-30T10:00")
    show = "session_id calls_usd"
    assert ledger.ask("reconcile", show, since="2026-06-29", until="2026-06-29") == [("lost", 3.0)]
    assert ledger.ask("reconcile", show, since="2026-06-30", until="2026-06-30") == []


def test_calls_without_a_run_are_of_their_roots_profile(ledger: HandMadeLedger) -> None:
    ledger.run("root", profile="work")
    ledger.edge("lost", "root", "t")
    ledger.call("lost", 1.0)
    ledger.call("stray", 1.0)
    assert ledger.ask("reconcile", "session_id", profile="work") == [("lost",)]


def test_runs_count_by_their_start_with_all_of_their_calls(ledger: HandMadeLedger) -> None:
    for session, started in (
        ("before", "2026-06-29T23:59:59.999999"),
        ("first", "2026-06-30T00:00:00"),
        ("last", "2026-06-30T23:59:59.999999"),
        ("after", "2026-07-01T00:00:00"),
    ):
        ledger.run(session, started, cost_usd=1.0, api_calls=1)
    # A call outside the window counts: the run is complete with it.
    ledger.run("sound", "2026-06-30T10:00", cost_usd=1.0, api_calls=1)
    ledger.call("sound", 1.0, "2026-07-01T10:00")
    assert ledger.ask("reconcile", "session_id", since="2026-06-30", until="2026-06-30") == [
        ("first",),
        ("last",),
    ]


def test_a_profile_restricts_the_runs(ledger: HandMadeLedger) -> None:
    ledger.run("mine", cost_usd=1.0, profile="work")
    ledger.run("theirs", cost_usd=1.0, profile="home")
    assert ledger.ask("reconcile", "session_id", profile="work") == [("mine",)]


def test_an_empty_ledger_is_sound(ledger: HandMadeLedger) -> None:
    assert ledger.ask("reconcile", since="all") == []
