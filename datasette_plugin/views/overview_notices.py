"""What the overview asks its reader to look at, each in a line that leads to its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hermes_telemetry.money import usd
from hermes_telemetry.windows import END, Window, parse_timestamp

from . import links
from .formats import name, number
from .frame import Page

_EACH = 3  # lines of a kind; what is more is behind their links


@dataclass(frozen=True)
class Notice:
    """A line: a sign for its kind, what happened, and where its rows are."""

    sign: str
    words: Markup
    link: str
    address: str


def noticed(page: Page, found: Mapping[str, Any]) -> list[Notice]:
    """The lines for what `overview_figures.notices` found, what costs money first."""
    return [
        *_alerts(page, found["budget_alerts"]),
        *_free_models(page, found["free_models_that_cost"]),
        *_price_changes(page, found["price_changes"]),
        *_storms(page, found["retry_storms"]),
        *_edges(page, found["edges"]),
    ]


def _name(text: object) -> Markup:
    return Markup("<bdi>{}</bdi>").format(name(text))


def _alerts(page: Page, alerts: list[Mapping[str, Any]]) -> Iterator[Notice]:
    levels = {"soft": "reached the soft limit", "hard": "reached the limit", "paused": "was paused"}
    whose = {"cron_job": "Cron job", "sender": "Sender", "profile": "Profile"}
    told = ("scope", "scope_id", "window")
    paused = {tuple(alert[key] for key in told) for alert in alerts if alert["level"] == "paused"}
    # A job is paused because it reached its limit: that is one thing to look at.
    shown = [
        alert
        for alert in alerts
        if alert["level"] != "hard" or tuple(alert[key] for key in told) not in paused
    ]
    for alert in shown[:_EACH]:
        who = Markup("Everyone together")
        if alert["scope"] != "global":
            scope = whose.get(alert["scope"]) or _name(alert["scope"])
            who = Markup("{} {}").format(scope, _name(alert["name"] or alert["scope_id"]))
        words = Markup("{} {}: {} of {} a {}, {}").format(
            who,
            levels.get(alert["level"]) or _name(alert["level"]),
            usd(alert["spent_usd"]),
            usd(alert["limit_usd"]),
            "day" if alert["window"] == "daily" else "month",
            page.local(alert["fired_at"]),
        )
        yield Notice("!", words, "Alerts", page.query_url("budget_alert_history"))


def _free_models(page: Page, models: list[Mapping[str, Any]]) -> Iterator[Notice]:
    for model in models[:_EACH]:
        words = Markup("{} was free and now costs: {} for {} calls since {}").format(
            _name(model["model"]),
            usd(model["spend_since_usd"], model["unpriced_calls"]),
            number(model["calls_since"]),
            page.local(model["flipped_at"]),
        )
        since = Window(parse_timestamp(model["flipped_at"]), END, page.zone)
        paid = model["paid_model"] or model["model"]
        address = links.rows_url(page, "llm_calls", since, model=paid)
        yield Notice("$", words, "Calls", address)


def _price_changes(page: Page, changes: list[Mapping[str, Any]]) -> Iterator[Notice]:
    for change in changes[:_EACH]:
        by = "" if change["change_pct"] is None else f" by {change['change_pct']:+,.0f} %"
        words = Markup("The price of {} changed{}, {}").format(
            _name(change["model"]), by, page.local(change["valid_from"])
        )
        address = page.query_url("price_history", model=change["model"] or "")
        yield Notice("┊", words, "Prices", address)


def _storms(page: Page, storms: list[Mapping[str, Any]]) -> Iterator[Notice]:
    if not storms:
        return
    largest = max(storms, key=lambda storm: storm["attempts"])
    count = "A retry storm" if len(storms) == 1 else f"{len(storms):,} retry storms, the largest"
    words = Markup("{} of {} failed attempts at {}, {}").format(
        count,
        number(largest["attempts"]),
        _name(largest["model"]),
        page.local(largest["started_at"]),
    )
    yield Notice("↻", words, "Storms", page.query_url("retry_storms"))


def _edges(page: Page, edges: Mapping[str, Any] | None) -> Iterator[Notice]:
    if edges is None:
        return
    kinds = {
        "without_turn_id": "without a turn",
        "unjoined": "with a turn that has no call",
        "orphans": "under a session that is not recorded",
    }
    said = [f"{edges[kind]:,} {words}" for kind, words in kinds.items() if edges[kind]]
    if edges["unattributed_usd"]:
        cost = usd(edges["unattributed_usd"], edges["unpriced_calls"])
        said.append(f"{cost} of subagents belongs to no session")
    if said:
        words = Markup("Of {} delegations: {}").format(number(edges["edges"]), ", ".join(said))
        address = page.query_url("subagent_join_health")
        yield Notice("↯", words, "Delegations", address)
