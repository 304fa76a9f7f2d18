from support.ledger import HandMadeLedger, stored


def test_a_turn_step_by_step(ledger: HandMadeLedger) -> None:
    def at(second: str) -> str:
        return f"2026-06-30T10:00:{second}"

    ledger.failure(
        "a", at("01"), "t", model="m1", status_code=429, error_type="RateLimit", duration_ms=90
    )
    ledger.call("a", 0.5, at("02"), "t", model="m1", latency_ms=800, tokens_in=10, tokens_out=1)
    ledger.tool("a", "terminal", at("03"), "t", latency_ms=20)
    ledger.tool("a", "read_file", at("04"), "t", latency_ms=5, ok=0)
    ledger.tool("a", "delegate_task/subagent", at("05"), "t", latency_ms=5)
    ledger.call("a", None, at("06"), "t", model="m2", latency_ms=70, tokens_in=20, tokens_out=2)
    ledger.call("a", 0.25, at("07"), "t", model="m1", tokens_in=30, tokens_out=3, estimated=1)
    ledger.call("a", 8.0, at("02"), "another")
    assert ledger.ask("turn_timeline", turn_id="t") == [
        (stored(at("01")), None, "error", "m1", "429", 90, None, None, None, 0),
        (stored(at("02")), 0.5, "call", "m1", "ok", 800, 10, 1, 0.5, 0),
        (stored(at("03")), None, "tool", "terminal", "ok", 20, None, None, 0.5, 0),
        (stored(at("04")), None, "tool", "read_file", "failed", 5, None, None, 0.5, 0),
        (stored(at("06")), None, "call", "m2", "ok", 70, 20, 2, 0.5, 1),
        (stored(at("07")), 0.25, "call", "m1", "estimated", None, 30, 3, 0.75, 1),
    ]


def test_steps_of_one_instant_stand_in_the_order_of_cause(ledger: HandMadeLedger) -> None:
    ledger.tool("a", "terminal", turn="t")
    ledger.call("a", 0.5, turn="t")
    ledger.call("a", 0.25, turn="t")
    ledger.failure("a", turn="t")
    assert ledger.ask("turn_timeline", "kind running_usd", turn_id="t") == [
        ("error", None),
        ("call", 0.5),
        ("call", 0.75),
        ("tool", 0.75),
    ]


def test_a_failure_without_a_status_says_what_it_can(ledger: HandMadeLedger) -> None:
    def fail(second: str, **texts: str) -> None:
        ledger.failure("a", f"2026-06-30T10:00:{second}", "t", status_code=None, **texts)

    fail("01", error_type="EmptyStreamError", reason="empty")
    fail("02", reason="empty")
    fail("03")
    assert ledger.ask("turn_timeline", "status", turn_id="t") == [
        ("EmptyStreamError",),
        ("empty",),
        ("failed",),
    ]


def test_a_turn_of_any_age_is_shown(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5, "2001-01-01T10:00", "t")
    assert ledger.ask("turn_timeline", "running_usd", turn_id="t") == [(0.5,)]


def test_no_turn_gives_no_rows(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5)
    ledger.call("a", 0.5, turn="")
    ledger.tool("a", "terminal", turn="")
    ledger.failure("a", turn="")
    assert ledger.ask("turn_timeline") == []
    assert ledger.ask("turn_timeline", turn_id="absent") == []
