from support.ledger import HandMadeLedger, stored


def test_failures_are_grouped_by_day_model_status_and_reason(ledger: HandMadeLedger) -> None:
    def storm(
        at: str, session: str, turn: str | None, ms: int | None, text: str, reason: str = "rate"
    ) -> None:
        ledger.failure(session, at, turn, duration_ms=ms, error_message=text, reason=reason)

    storm("2026-06-30T10:00", "a", "t1", 100, "first")
    storm("2026-06-30T10:02", "b", "t2", 30, "newest")
    storm("2026-06-30T10:01", "a", "t1", 20, "second")
    storm("2026-06-30T09:00", "a", None, None, "no turn")
    storm("2026-06-30T11:00", "a", "t1", None, "full", reason="quota")
    storm("2026-07-01T10:00", "a", "t3", 7, "next day")
    assert ledger.ask("failed_attempts") == [
        ("2026-07-01", 1, "m", "p", 429, "rate", 1, 1, 7, "next day", stored("2026-07-01T10:00")),
        ("2026-06-30", 4, "m", "p", 429, "rate", 2, 2, 150, "newest", stored("2026-06-30T10:02")),
        ("2026-06-30", 1, "m", "p", 429, "quota", 1, 1, None, "full", stored("2026-06-30T11:00")),
    ]


def test_models_providers_and_missing_statuses_stand_apart(ledger: HandMadeLedger) -> None:
    ledger.failure("a", model="x", provider="p")
    ledger.failure("a", model="x", provider="q")
    ledger.failure("a", model="y", provider="p", status_code=None)
    assert ledger.ask("failed_attempts", "model provider status_code attempts") == [
        ("x", "p", 429, 1),
        ("x", "q", 429, 1),
        ("y", "p", None, 1),
    ]


def test_an_empty_turn_id_is_no_turn(ledger: HandMadeLedger) -> None:
    ledger.failure("a", turn="")
    assert ledger.ask("failed_attempts", "turns") == [(0,)]


def test_days_are_local_and_exact(ledger: HandMadeLedger) -> None:
    for at in (
        "2026-10-24T21:59:59.999999",
        "2026-10-24T22:00:00",
        "2026-10-25T22:59:59.999999",
        "2026-10-25T23:00:00",
    ):
        ledger.failure("a", at)
    assert ledger.ask(
        "failed_attempts", "day attempts", "Europe/Madrid", since="2026-10-25", until="2026-10-25"
    ) == [("2026-10-25", 2)]
    assert ledger.ask("failed_attempts", "day attempts", "Europe/Madrid", since="all") == [
        ("2026-10-26", 1),
        ("2026-10-25", 2),
        ("2026-10-24", 1),
    ]


def test_nothing_said_means_thirty_days(ledger: HandMadeLedger) -> None:
    ledger.failure("a", "2026-06-01T23:59:59.999999")
    ledger.failure("a", "2026-06-02T00:00")
    assert ledger.ask("failed_attempts", "day") == [("2026-06-02",)]


def test_a_profile_takes_in_its_subagents(ledger: HandMadeLedger) -> None:
    ledger.run("root", profile="work")
    ledger.edge("child", "root", "t")
    for session in ("root", "child", "stranger"):
        ledger.failure(session)
    assert ledger.ask("failed_attempts", "attempts sessions", profile="work") == [(2, 2)]


def test_an_empty_ledger_has_no_failures(ledger: HandMadeLedger) -> None:
    assert ledger.ask("failed_attempts", since="all") == []
