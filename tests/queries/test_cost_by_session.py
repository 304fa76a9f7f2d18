from support.ledger import HandMadeLedger, stored


def test_sessions_by_cost_with_how_long_they_took_and_how_they_stood(
    ledger: HandMadeLedger,
) -> None:
    ledger.run(
        *("a", "2026-06-30T10:00"),
        duration_ms=90_000,
        status="ok",
        platform="cli",
        model="m",
    )
    ledger.run("b", "2026-06-30T11:00", status="error", platform="cron", model="n")
    ledger.call("a", 0.5, "2026-06-30T10:01", tokens_in=70, tokens_out=3)
    ledger.call("a", 1.0, "2026-06-30T10:02", tokens_in=30, tokens_out=4)
    ledger.call("b", 4.0, "2026-06-30T11:01")
    assert ledger.ask("cost_by_session") == [
        # session, cost, calls, each; then the run's: start, length, status, platform, model
        ("b", 4.0, 1, 4.0, stored("2026-06-30T11:00"), None, "error", "cron", "n", 0, 0, 0),
        ("a", 1.5, 2, 0.75, stored("2026-06-30T10:00"), 90_000, "ok", "cli", "m", 100, 7, 0),
    ]


def test_a_call_costs_what_those_with_a_price_cost_on_the_average(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0)
    ledger.call("a", 2.0)
    ledger.call("a", None)
    ledger.call("b", None)
    assert ledger.ask("cost_by_session", "session_id cost_usd usd_per_call unpriced_calls") == [
        ("a", 3.0, 1.5, 1),
        ("b", None, None, 1),
    ]


def test_calls_count_by_their_own_time_and_a_missing_run_began_with_the_first(
    ledger: HandMadeLedger,
) -> None:
    ledger.run("long", "2026-01-01", status="ok")
    ledger.call("long", 8.0, "2026-01-01T10:00")
    ledger.call("long", 1.0, "2026-06-30T10:00")
    ledger.call("over", 8.0, "2026-01-01T10:00")
    ledger.call("lost", 0.5, "2026-06-30T11:00")
    ledger.call("lost", 0.25, "2026-06-30T10:00")
    assert ledger.ask("cost_by_session", "session_id cost_usd started_at status") == [
        ("long", 1.0, stored("2026-01-01"), "ok"),
        ("lost", 0.75, stored("2026-06-30T10:00"), None),
    ]


def test_a_profiles_sessions(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    ledger.edge("c", "a")
    for session in ("a", "b", "c"):
        ledger.call(session, 1.0)
    assert ledger.ask("cost_by_session", "session_id", profile="work") == [("a",), ("c",)]
