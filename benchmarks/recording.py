"""How long a call takes to record, beside what SQLite itself takes for the same rows."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

from calling import LISTED, Session, begun, list_its_price
from figures import Figure, Setting, medians, quantile
from ledgers import LARGE, copy

from hermes_telemetry.paths import database_path
from hermes_telemetry.store.calls import _COUNT_CALL, _INSERT_CALL
from hermes_telemetry.windows import SYSTEM_CLOCK, timestamp

Who = tuple[str, str]
"""A model and its provider."""

# Nothing but genai-prices knows the one, and nothing but the host the other.
OF_THE_CATALOGUE: Who = ("llama-3.3-70b-versatile", "groq")
OF_THE_HOST: Who = ("made-up-model", "custom")
UNPRICED: Who = ("nobody-knows-its-price", "custom")

PRICED_BY = {
    "listed price": (LISTED, "listed"),
    "price of the catalogue": (OF_THE_CATALOGUE, "catalogue"),
    "the host's tariff": (OF_THE_HOST, "tariff"),
    "no known price": (UNPRICED, None),
}
"""Which model, and the basis that its price must be found to have."""

_RATE = 0.6
_PINNED_LOG_MB = 500
_BURST = 100
"""Calls that follow each other at once, as in a turn: the processor does not idle between them."""

SPEND_FAR_AWAY = {"daily_usd": 1e6, "monthly_usd": 1e7}


def group(setting: Setting) -> Iterator[Figure]:
    home = copy(setting, LARGE, "recording")
    list_its_price(home)
    with host_with_a_tariff():
        for name, (who, basis) in PRICED_BY.items():
            session = begun(home, f"recording, {name}", *who)
            found = _basis(home)
            if found != basis:
                lacking = f"the price's basis is {found}, not {basis}"
                yield Figure(f"post_api_request, {name}", 0, "", lacking=lacking)
                continue
            yield from _beside_the_floor(setting, home, session, name)
        _limit_four_scopes(home)
        session = begun(home, "recording, limits")
        yield from _beside_the_floor(setting, home, session, "limits in four scopes")
        (home / "budget.yaml").unlink()
        yield from _with_a_pinned_log(setting, home)


def _latencies(name: str, found: dict[str, float]) -> Iterator[Figure]:
    yield Figure(f"{name}: p50", found["p50"] * 1000, "µs", 150)
    yield Figure(f"{name}: p99", found["p99"], "ms", 1)
    yield Figure(f"{name}: p99.9", found["p99.9"], "ms", 20)


def _beside_the_floor(
    setting: Setting, home: Path, session: Session, name: str
) -> Iterator[Figure]:
    calls = setting.size(4000, 50)

    def run(number: int) -> dict[str, float]:
        least, least_work = floor(database_path(home), f"{name} {number}", calls)
        times, work = [], []
        for _ in range(calls):
            times.append(session.call())
            work.append(session.work)
        return {
            "ratio": sum(least) / sum(times),
            "ratio of work": sum(least_work) / sum(work),
            "floor": quantile(least, 0.5),
            **spread(times),
        }

    found = medians(run(number) for number in range(setting.runs))
    name = f"post_api_request, {name}"
    yield Figure(f"{name}: of the floor's rate", found["ratio"], "", _RATE, at_least=True)
    yield Figure("  the same by processor time", found["ratio of work"], "")
    yield Figure("  the floor beside it: p50", found["floor"] * 1000, "µs")
    yield from _latencies(name, found)


def floor(path: Path, session_id: str, calls: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each call's rows on bare SQLite, of time and of processor time: the same
    inserts and the same update, one transaction a call, checkpoints as SQLite makes them by itself.
    """
    model, provider = LISTED
    ts = timestamp(SYSTEM_CLOCK.now())
    times, works = [], []
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as conn:
        conn.execute("pragma synchronous = normal")
        conn.execute(
            "insert into runs (session_id, started_at, status) values (?, ?, 'running')",
            (session_id, ts),
        )
        (price,) = conn.execute("select max(id) from prices_used").fetchone()
        for number in range(calls):
            turn = f"{session_id}:task:{number:08x}"
            call = (session_id, ts, model, provider, 1000, 200, 0.0075, 900, 5000, 0, 0, 0, 0, None)
            counted = (1000, 200, 5000, 0, 0.0075, 0, 0, 0, model, provider, True, session_id)
            began, work = time.perf_counter(), time.thread_time()
            conn.execute("begin immediate")
            call_id = conn.execute(_INSERT_CALL, (*call, turn, "task", f"{turn}:api:1")).lastrowid
            conn.execute(
                "insert into llm_call_prices (call_id, price_id) values (?, ?)", (call_id, price)
            )
            conn.execute(_COUNT_CALL, counted)
            conn.execute("commit")
            took = time.perf_counter() - began
            works.append((time.thread_time() - work) * 1000)
            times.append(took * 1000)
    return times, works


def spread(times: list[float]) -> dict[str, float]:
    """Of milliseconds: p50, p99, p99.9 and the worst."""
    return {
        "p50": quantile(times, 0.5),
        "p99": quantile(times, 0.99),
        "p99.9": quantile(times, 0.999),
        "worst": max(times),
    }


def _with_a_pinned_log(setting: Setting, home: Path) -> Iterator[Figure]:
    """While a reader keeps what is written from leaving the log, for a minute."""
    bursts, seconds = setting.size(60, 1), setting.size(60, 1)
    session = begun(home, "recording, pinned")
    _have_memory_ready(home, setting.size(_PINNED_LOG_MB, 1))
    times = []
    with closing(sqlite3.connect(database_path(home), isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from prices_used").fetchone()
        until = time.monotonic() + seconds
        for number in range(bursts):
            times += [session.call() for _ in range(_BURST)]
            time.sleep(max(0.0, (until - time.monotonic()) / (bursts - number)))
    yield from _latencies(f"post_api_request, a reader pins the log {seconds} s", spread(times))


def _have_memory_ready(home: Path, megabytes: int) -> None:
    """A log that only grows takes a new page of the system's cache for each of its own. A virtual
    machine gets such a page from its host at the first use, which takes 12 µs, of which a call
    would pay ten; after a file has come and gone the machine has them.
    """
    passing = home / "passing"
    with passing.open("wb") as file:
        for _ in range(megabytes):
            file.write(bytes(1024 * 1024))
        os.fsync(file.fileno())
    passing.unlink()


def _basis(home: Path) -> str | None:
    """The basis of the newest call's price."""
    with closing(sqlite3.connect(database_path(home))) as conn:
        (basis,) = conn.execute(
            """
            select price.basis
            from llm_calls as call
            left join llm_call_prices as record on record.call_id = call.id
            left join prices_used as price on price.id = record.price_id
            order by call.id desc
            limit 1
            """
        ).fetchone()
    found: str | None = basis
    return found


def _limit_four_scopes(home: Path) -> None:
    limits = {"global": SPEND_FAR_AWAY} | {
        f"per_{scope}": {"default": SPEND_FAR_AWAY} for scope in ("cron_job", "sender", "profile")
    }
    text = json.dumps({"budgets": limits, "timezone": "Europe/Madrid"})  # JSON is YAML
    (home / "budget.yaml").write_text(text)


@contextmanager
def host_with_a_tariff() -> Iterator[None]:
    """Meanwhile the recorder finds a host that knows what `OF_THE_HOST` costs."""
    tariff = SimpleNamespace(
        input_cost_per_million=3,
        output_cost_per_million=15,
        cache_read_cost_per_million=0,
        cache_write_cost_per_million=None,
        request_cost=None,
        source="benchmark",
        source_url=None,
        pricing_version=None,
        fetched_at=None,
    )
    agent, pricing = ModuleType("agent"), ModuleType("agent.usage_pricing")
    pricing.get_pricing_entry = (  # type: ignore[attr-defined]
        lambda model, provider, base_url: tariff if model == OF_THE_HOST[0] else None
    )
    sys.modules.update({"agent": agent, "agent.usage_pricing": pricing})
    try:
        yield
    finally:
        del sys.modules["agent"], sys.modules["agent.usage_pricing"]
