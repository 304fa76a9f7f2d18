"""Ledgers with a bit of everything: trees with cycles and orphans, split turns, unpriced calls."""

from datetime import UTC, datetime, timedelta
from random import Random

from hermes_telemetry.windows import timestamp
from support.ledger import HandMadeLedger

_START = datetime(2026, 5, 20, tzinfo=UTC)


def scatter(ledger: HandMadeLedger, chance: Random) -> tuple[list[str], list[str]]:
    """Fill an empty ledger by chance; its sessions and its cron jobs."""
    # '' is a session like any other: some hosts leave the id out.
    sessions = ["", *(f"s{number:02}" for number in range(1, 25))]
    jobs = ["daily", "weekly"]

    def moment() -> str:
        return timestamp(_START + timedelta(seconds=chance.randrange(43 * 86400)))

    for session in sessions[:22]:
        ledger.run(
            session,
            moment(),
            profile=chance.choice([None, "", "work", "home"]),
            cron_job_id=chance.choice([None, None, "", *jobs]),
            sender_id=chance.choice([None, None, "", "ann", "bob"]),
            platform=chance.choice([None, "cli", "subagent"]),
            status=chance.choice(["ok", "error"]),
            cost_usd=chance.choice([None, 0.0, 1.0]),
            api_calls=chance.choice([None, 0, 1]),
        )
    *children, one, other = chance.sample(sessions, 18)
    # Two that started each other, and whatever hangs on them.
    cycle = {one: other, other: one}
    for child in [*children, one, other]:
        parent = cycle.get(child) or chance.choice([*sessions, "gone"])
        turn = chance.choice([None, "", f"{parent}-t0", f"{parent}-t1", "split-0", "split-0"])
        ledger.edge(child, parent, turn, moment())
    for _ in range(300):
        session = chance.choice(sessions)
        turn = chance.choice([None, "", f"{session}-t0", f"{session}-t1", "split-0", "split-1"])
        ledger.call(
            session,
            chance.choice([None, 0.0, 0.25, 0.5, 1.0]),
            moment(),
            turn,
            model=chance.choice(["m", "n", "n:free"]),
            provider=chance.choice(["p", "q"]),
            tokens_in=chance.randrange(100),
            cache_read_tokens=chance.randrange(100),
            latency_ms=chance.randrange(1000),
        )
        ledger.tool(
            session,
            chance.choice(["terminal", "patch", "delegate_task/subagent"]),
            moment(),
            turn,
            ok=chance.choice([0, 1, 1]),
            latency_ms=chance.choice([None, chance.randrange(1000)]),
        )
        if chance.random() < 0.3:
            ledger.failure(
                session,
                moment(),
                turn,
                status_code=chance.choice([None, 401, 429]),
                duration_ms=chance.randrange(1000),
            )
    ledger.free("n:free", "p", "2026-05-20")
    ledger.flip("n", "p", "2026-06-10", 0.25, "s01")
    return sessions, jobs
