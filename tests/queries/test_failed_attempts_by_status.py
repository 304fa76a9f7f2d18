"""Failed attempts by status: what a session touched by many of them counts."""

from support.ledger import HandMadeLedger, stored


def test_a_session_and_a_turn_count_once_a_status(ledger: HandMadeLedger) -> None:
    for at, session, turn, status, model, ms in (
        ("2026-06-29T10:00", "a", "t1", 429, "m", 100),
        ("2026-06-30T10:00", "a", "t1", 429, "n", 50),
        ("2026-06-30T11:00", "a", "t2", 429, "m", None),
        ("2026-06-30T12:00", "b", "", 429, "m", 7),
        ("2026-06-30T13:00", "a", "t2", 503, "m", None),
        ("2026-06-30T14:00", "c", None, None, "m", 3),
    ):
        ledger.failure(session, at, turn, status_code=status, model=model, duration_ms=ms)
    # Of 429: sessions a and b, turns t1 and t2, 100 + 50 + 7 ms; of equal ones the lesser first.
    assert ledger.ask("failed_attempts_by_status") == [
        (429, 4, 2, 2, 157, stored("2026-06-30T12:00")),
        (None, 1, 1, 0, 3, stored("2026-06-30T14:00")),
        (503, 1, 1, 1, None, stored("2026-06-30T13:00")),
    ]


def test_the_window_is_of_local_days_and_exact(ledger: HandMadeLedger) -> None:
    for at in (
        "2026-10-24T21:59:59.999999",
        "2026-10-24T22:00:00",
        "2026-10-25T22:59:59.999999",
        "2026-10-25T23:00:00",
    ):
        ledger.failure("a", at)
    day = {"since": "2026-10-25", "until": "2026-10-25"}
    # Madrid's longest day: from 22:00 to 23:00 UTC of the next.
    assert ledger.ask("failed_attempts_by_status", "attempts", "Europe/Madrid", **day) == [(2,)]


def test_nothing_said_means_thirty_days(ledger: HandMadeLedger) -> None:
    ledger.failure("a", "2026-06-01T23:59:59.999999")
    ledger.failure("a", "2026-06-02T00:00")
    assert ledger.ask("failed_attempts_by_status", "attempts") == [(1,)]


def test_a_profile_takes_in_its_subagents(ledger: HandMadeLedger) -> None:
    ledger.run("root", profile="work")
    ledger.edge("child", "root", "t")
    for session in ("root", "child", "stranger"):
        ledger.failure(session)
    given = {"profile": "work"}
    assert ledger.ask("failed_attempts_by_status", "attempts sessions", **given) == [(2, 2)]
