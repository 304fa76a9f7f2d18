"""Two small ledgers that every query is asked about: one made by hand, one by another build."""

from contextlib import closing
from pathlib import Path
from typing import Any

from hermes_telemetry.store.migrations import migrate
from support import old_ledger
from support.ledger import HandMadeLedger


def tell(ledger: HandMadeLedger) -> None:
    """A week of a person's, then a cron run with a subagent; the same a year ago, without a week.

    15,625 tokens cost 1/64 of a dollar at a dollar a million.
    """
    price = ledger.price("listed", input=1.0, output=2.0)
    ledger.tariff(2.0, 4.0, "2025-06-01")
    ledger.free("n", "p", "2025-06-01")
    ledger.flip("n", "p", "2025-06-30T10:01:30", 1.0, "oc")
    ledger.gone("n", "2025-06-01")
    ledger.alert("global", "hard", "2025-06-30T10:02", spent_usd=3.0, limit_usd=2.0)

    ledger.run("h", "2026-06-18T09:00", status="ok", cost_usd=0.875, api_calls=7)
    for day in range(18, 25):
        ledger.call("h", 0.125, f"2026-06-{day}T09:00")

    of_job: dict[str, Any] = {"platform": "cron", "cron_job_id": "daily", "api_calls": 2}
    ledger.run("r", "2026-06-30T10:00", profile="work", sender_id="ann", status="ok", **of_job)
    ledger.run("c", "2026-06-30T10:00:25", platform="subagent", status="error")
    ledger.edge("c", "r", "t", "2026-06-30T10:00:25")
    paid: dict[str, Any] = {"price": price, "tokens_in": 15625, "moa_preset": "deep"}
    ledger.call("r", 0.5, "2026-06-30T10:00:10", "t", latency_ms=40, **paid)
    ledger.tool("r", "terminal", "2026-06-30T10:00:20", "t", latency_ms=20)
    ledger.tool("r", "terminal", "2026-06-30T10:00:30", "t", latency_ms=30, ok=0)
    ledger.call("c", 0.25, "2026-06-30T10:00:35", "u", model="n")
    ledger.call("c", None, "2026-06-30T10:00:36", "u", model="n")
    for second in range(40, 45):
        ledger.failure("r", f"2026-06-30T10:00:{second}", "t")
    ledger.call("r", None, "2026-06-30T10:00:50", "t", tokens_in=15625, moa_preset="deep")

    ledger.run("o", "2025-06-30T10:00", profile="home", sender_id="bob", status="error", **of_job)
    ledger.edge("oc", "o", "v", "2025-06-30T10:01")
    ledger.call("o", 2.0, "2025-06-30T10:01", "v", latency_ms=80, **paid)
    ledger.call("oc", 1.0, "2025-06-30T10:01:30", "w", model="n")
    ledger.call("o", None, "2025-06-30T10:02", "v", moa_preset="deep")
    ledger.tool("o", "patch", "2025-06-30T10:01", "v", latency_ms=10)
    for second in range(5):
        ledger.failure("o", f"2025-06-30T10:03:0{second}", "v")


# The other build's file: a session with a Mixture-of-Agents call and a call of an assumed price,
# one subagent with a free call that nothing explains, and one that left no trace but its edge.
SESSION, CHILD, TRACE = (
    "20260511_080000_0a0b0c",
    "20260511_080100_0d0e0f",
    "20260511_080200_1a1b1c",
)
OTHERS = {"cron_job_id": "nightly", "session_id": SESSION, "turn_id": f"{SESSION}:t:0badcafe"}
OPUS, GLM, ZERO = "claude-opus-4-1", "glm-4.5", "stealth"


def tell_others(path: Path) -> Path:
    """The file that another build made, brought to the newest schema."""
    old_ledger.build_of_another(path, 12)
    with closing(old_ledger.open_ledger(path)) as connection:
        connection.execute(
            "insert into llm_calls"
            " (session_id, ts, model, provider, tokens_in, tokens_out, cost_usd)"
            " values (?, '2026-05-11T08:01:30+00:00', ?, 'openrouter', 64, 2, 0.0)",
            (CHILD, ZERO),
        )
    migrate(path)
    return path
