import json
from pathlib import Path

from support.ledger import HandMadeLedger, stored


def test_alerts_of_every_scope_and_level_the_newest_first(
    ledger: HandMadeLedger, hermes_home: Path
) -> None:
    jobs = {"jobs": [{"id": "0123456789ab", "name": "nightly report"}]}
    (hermes_home / "cron").mkdir()
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps(jobs))
    ledger.alert("global", "soft", "2026-06-01T10:00", spent_usd=4.0, limit_usd=5.0)
    ledger.alert(
        *("global", "hard", "2026-06-02T10:00"),
        window="monthly",
        period_key="2026-06",
        spent_usd=150.0,
        limit_usd=100.0,
    )
    # At once: the later row is the later alert.
    for level in ("hard", "paused"):
        ledger.alert(
            *("cron_job", level, "2026-06-03T10:01"),
            scope_id="0123456789ab",
            spent_usd=2.0,
            limit_usd=1.0,
        )
    ledger.alert("sender", "soft", "2026-06-04T10:00", scope_id="ann", spent_usd=0.5, limit_usd=0.0)
    job = ("cron_job", "0123456789ab", "nightly report", "daily", "2026-06-03")
    assert ledger.ask("budget_alert_history") == [
        (stored("2026-06-04T10:00"), 0.5, 0.0)
        + ("sender", "ann", "ann", "daily", "2026-06-04", "soft", None),
        (stored("2026-06-03T10:01"), 2.0, 1.0, *job, "paused", 2.0),
        (stored("2026-06-03T10:01"), 2.0, 1.0, *job, "hard", 2.0),
        (stored("2026-06-02T10:00"), 150.0, 100.0)
        + ("global", "", "everything", "monthly", "2026-06", "hard", 1.5),
        (stored("2026-06-01T10:00"), 4.0, 5.0)
        + ("global", "", "everything", "daily", "2026-06-01", "soft", 0.8),
    ]


def test_a_job_whose_name_is_unknown_is_told_by_its_id(ledger: HandMadeLedger) -> None:
    ledger.alert("cron_job", "paused", "2026-06-03T10:00", scope_id="0123456789ab")
    columns = "name spent_usd limit_usd spent_share"
    assert ledger.ask("budget_alert_history", columns) == [("0123456789ab", None, None, None)]


def test_alerts_beyond_the_thousandth_are_the_oldest(ledger: HandMadeLedger) -> None:
    for number in range(1001):
        ledger.alert("sender", "soft", f"2026-06-03T10:00:00.{number:06}", scope_id=str(number))
    rows = ledger.ask("budget_alert_history", "scope_id")
    assert (len(rows), rows[0], rows[-1]) == (1000, ("1000",), ("1",))
