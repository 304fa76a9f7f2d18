from support.ledger import HandMadeLedger, stored


def test_the_runs_that_began_last_and_how_they_stand(ledger: HandMadeLedger) -> None:
    ledger.run("late", "2026-06-30T11:00", status="error", platform="cron", model="n")
    ledger.run(
        *("early", "2026-06-30T10:00"), status="ok", duration_ms=90_000, platform="cli", model="m"
    )
    ledger.call("early", 0.5, "2026-06-30T10:01", tokens_in=70, tokens_out=3)
    ledger.call("early", 1.0, "2026-06-30T10:02", tokens_in=30, tokens_out=4)
    ledger.call("early", None, "2026-06-30T10:03")
    ledger.tool("early", "terminal")
    ledger.tool("early", "delegate_task/subagent")  # stands for a subagent
    ledger.failure("late", "2026-06-30T11:01")
    ledger.failure("late", "2026-06-30T11:02")
    assert ledger.ask("newest_runs") == [
        # session, cost, status, calls, start, length, platform, model; then failures, tools, tokens
        # It called in vain: nothing is known of its cost.
        ("late", None, "error", 0, stored("2026-06-30T11:00"), None, "cron", "n", 2, 0, 0, 0, 0),
        ("early", 1.5, "ok", 3, stored("2026-06-30T10:00"), 90_000, "cli", "m", 0, 1, 100, 7, 1),
    ]


def test_as_many_as_asked_for_and_ten_by_itself(ledger: HandMadeLedger) -> None:
    for hour in range(12):
        ledger.run(f"run-{hour:02}", f"2026-06-30T{hour:02}:00")
    # Of two that began in one instant the ids decide.
    ledger.run("run-11b", "2026-06-30T11:00")
    newest = ["run-11", "run-11b", *(f"run-{hour:02}" for hour in range(10, -1, -1))]
    for given, count in (({}, 10), ({"runs": ""}, 10), ({"runs": "1"}, 1), ({"runs": "99"}, 13)):
        assert [row[0] for row in ledger.ask("newest_runs", **given)] == newest[:count]


def test_a_run_counts_by_its_start_and_with_all_of_its_calls(ledger: HandMadeLedger) -> None:
    ledger.run("before", "2026-06-30T23:00")
    ledger.call("before", 8.0, "2026-07-01T01:00")
    ledger.run("within", "2026-07-01T23:00")
    ledger.call("within", 1.0, "2026-07-01T23:30")
    ledger.call("within", 2.0, "2026-07-02T00:30")
    given = {"since": "2026-07-01", "until": "2026-07-01"}
    assert ledger.ask("newest_runs", "session_id cost_usd calls", **given) == [("within", 3.0, 2)]


def test_a_profiles_runs_are_limited_among_themselves(ledger: HandMadeLedger) -> None:
    ledger.run("w", "2026-06-30T10:00", profile="work")
    ledger.run("child", "2026-06-30T10:01")
    ledger.edge("child", "w")
    for minute in range(10, 20):
        ledger.run(f"h{minute}", f"2026-06-30T10:{minute}", profile="home")
    given = {"profile": "work", "runs": "2"}
    assert ledger.ask("newest_runs", "session_id", **given) == [("child",), ("w",)]
