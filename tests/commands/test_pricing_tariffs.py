"""`hermes-telemetry pricing backfill`, `drift` and `audit`: the host's tariffs and local prices."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import host
from support import old_ledger
from support.ledger import HandMadeLedger, stored
from support.ledger_facts import ask_ledger


@pytest.fixture
def tariffs(monkeypatch: pytest.MonkeyPatch) -> dict[str, host.Tariff]:
    """What the host charges by model; a test fills it."""
    known: dict[str, host.Tariff] = {}
    monkeypatch.setattr(host, "resolve_tariff", lambda model, *_: known.get(model))
    return known


def tariff(input: float, output: float, **more: Any) -> host.Tariff:
    fields = dict.fromkeys(host.Tariff.__dataclass_fields__) | {
        "input": Decimal(str(input)),
        "output": Decimal(str(output)),
        **more,
    }
    return host.Tariff(**fields)


class TestBackfill:
    @pytest.fixture(autouse=True)
    def seen(self, book: HandMadeLedger, tariffs: dict[str, host.Tariff]) -> None:
        """Four models seen; the host knows three of them, one as it was, one changed."""
        for model in ("new", "same", "moved", "unknown"):
            book.call("a", None, model=model)
        book.tariff(1.0, 2.0, "2026-07-01", model="same", source="list")
        book.tariff(1.0, 2.0, "2026-07-01", model="moved", source="list")
        tariffs["new"] = tariff(3, 4, cache_read=Decimal("0.5"), source="list")
        tariffs["same"] = tariff(1, 2, source="list")
        tariffs["moved"] = tariff(1, 2.5, source="list")

    def test_without_apply_it_shows_what_the_host_says(self, cli, book: HandMadeLedger) -> None:
        answer = cli("pricing", "backfill", "--db", book.path)
        assert (answer.code, answer.err) == (0, "")
        lines = answer.out.splitlines()
        assert sorted(" ".join(line.split()) for line in lines[2:6]) == [
            "moved p changed 1 2.5 list",
            "new p new 3 4 list",
            "same p as before 1 2 list",
            "unknown p no tariff",
        ]
        assert lines[6:] == [
            "the host has no tariff for 1 of them;"
            " outside the host, run this as `hermes telemetry pricing backfill`",
            "to be written: 2 snapshots",
            "nothing is written without --apply",
        ]
        assert ask_ledger(book.path, "select count(*) from pricing_snapshots") == [(2,)]

    def test_with_apply_news_are_kept(self, cli, book: HandMadeLedger) -> None:
        arguments = ("pricing", "backfill", "--apply", "--json", "--db", book.path)
        report = json.loads(cli(*arguments).out)
        assert (report["applied"], report["written"]) == (True, 2)
        assert report["pairs"][1] == {
            "model": "new",
            "provider": "p",
            "state": "new",
            "input_cost_per_million": 3.0,
            "output_cost_per_million": 4.0,
            "source": "list",
        }
        assert ask_ledger(
            book.path,
            "select model, provider, input_cost_per_million, cache_read_cost_per_million"
            " from pricing_snapshots where id > 2 order by model",
        ) == [("moved", "p", 1.0, None), ("new", "p", 3.0, 0.5)]
        assert json.loads(cli(*arguments).out)["written"] == 0


PRICES = """\
models:
  steady: {input: 2, output: 8}
  moved: {input: 2, output: 8}   # ours
  gift: {input: 0, output: 0}
  plan: {_subscription: true}
  routed: {input: 1, output: 2, _source: openrouter}
"""


class TestDrift:
    @pytest.fixture(autouse=True)
    def snapshots(self, book: HandMadeLedger, prices: Path) -> None:
        prices.write_text(PRICES, encoding="utf-8")
        book.tariff(9.0, 9.0, "2026-06-01", model="steady")
        book.tariff(2.0, 8.05, "2026-07-01", model="steady")  # 0.6 % more
        book.tariff(2.0, 6.0, "2026-07-01", model="moved")  # a quarter less
        book.tariff(3.0, 15.0, "2026-07-01", model="plan")
        book.tariff(1.0, 2.0, "2026-07-01", model="routed")
        book.tariff(None, None, "2026-07-01", model="unfixed")
        book.call("a", 0.5, model="moved")
        book.call("a", 0.5, model="uncovered")
        book.call("a", 0.5, model="uncovered")

    def test_it_tells_what_differs_and_what_cannot_be_compared(
        self, cli, book: HandMadeLedger
    ) -> None:
        answer = cli("pricing", "drift", "--db", book.path)
        assert (answer.code, answer.err) == (1, "")
        lines = answer.out.splitlines()
        assert [" ".join(line.split()) for line in lines[2:]] == [
            "moved p drift 2 6 2 8 25.0%",
            "plan p subscription 3 15 0 0",
            "routed p no local price 1 2",
            "steady p same 2 8.05 2 8 0.6%",
            "tariffs of the host compared: 4 (1 drift, 1 no local price, 1 subscription, 1 same)",
            "not covered: 1 models seen in 2 calls have no tariff in the ledger"
            " (`hermes-telemetry pricing backfill` asks the host)",
            "nothing is written without --apply",
        ]

    def test_with_apply_the_hosts_rates_of_what_differs_are_written(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        answer = cli("pricing", "drift", "--apply", "--db", book.path)
        assert answer.code == 0
        assert answer.out.splitlines()[-1] == "written to pricing.yaml: moved"
        assert prices.read_text(encoding="utf-8") == PRICES.replace(
            "moved: {input: 2, output: 8}", "moved: {input: 2, output: 6, _source: core-snapshot}"
        )
        assert cli("pricing", "drift", "--db", book.path).code == 0

    def test_the_newest_snapshot_wins_where_providers_share_an_id(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        book.tariff(4.0, 8.0, "2026-07-02", model="moved", provider="q")
        answer = cli("pricing", "drift", "--apply", "--json", "--db", book.path)
        report = json.loads(answer.out)
        assert "moved: {input: 4, output: 8, _source" in prices.read_text(encoding="utf-8")
        # The other provider's tariff now differs, and one id can hold only one of the two.
        assert (answer.code, report["written"], report["drifting"]) == (1, ["moved"], 1)
        assert "state it by hand" in cli("pricing", "drift", "--apply", "--db", book.path).out

    def test_a_route_that_a_plan_includes_is_neither_drift_nor_written(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        included = {"pricing_version": "included-route", "provider": "codex"}
        book.tariff(0.0, 0.0, "2026-07-03", model="moved", **included)
        book.tariff(0.0, 0.0, "2026-07-03", model="steady", **included)
        answer = cli("pricing", "drift", "--apply", "--json", "--db", book.path)
        report = json.loads(answer.out)
        assert [
            (pair["model"], pair["verdict"])
            for pair in report["pairs"]
            if pair["provider"] == "codex"
        ] == [("moved", "subscription"), ("steady", "subscription")]
        # The older tariff of the provider that charges counts: 2 and 6.
        assert report["written"] == ["moved"]
        assert prices.read_text(encoding="utf-8") == PRICES.replace(
            "moved: {input: 2, output: 8}", "moved: {input: 2, output: 6, _source: core-snapshot}"
        )

    def test_a_zero_on_one_side_is_drift(self, cli, book: HandMadeLedger) -> None:
        book.tariff(0.0, 0.001, "2026-07-01", model="gift")
        report = json.loads(cli("pricing", "drift", "--json", "--db", book.path).out)
        assert report["pairs"][0] == {
            "model": "gift",
            "provider": "p",
            "verdict": "drift",
            "tariff_input": 0.0,
            "tariff_output": 0.001,
            "local_input": 0.0,
            "local_output": 0.0,
            "change": None,
            "by_hour": False,
        }
        assert report["without_snapshot"] == [{"model": "uncovered", "provider": "p", "calls": 2}]

    def test_nothing_that_differs_is_no_finding(self, cli, ledger: Path) -> None:
        assert cli("pricing", "drift", "--db", ledger).code == 0

    @pytest.mark.parametrize("time", ["16:29:59", "16:30:00"])
    def test_a_price_with_hours_is_compared_at_its_dearest(
        self, cli, book: HandMadeLedger, prices: Path, prices_at: Callable[[str], None], time: str
    ) -> None:
        prices.write_text(NIGHTLY, encoding="utf-8")
        prices_at(time)
        book.tariff(2.0, 8.0, f"2026-07-01T{time}", model="nightly")
        answer = cli("pricing", "drift", "--db", book.path)
        assert answer.code == 0
        assert "nightly  p         same" in answer.out
        assert "with other rates by the hour, compared at the highest: nightly\n" in answer.out


NIGHTLY = """\
models:
  nightly: {input: 2, output: 8, periods: [{hours: ["16:30", "00:30"], input: 1, output: 4}]}
  announced: {input: 1, output: 2, periods: [{from: 2026-07-02, input: 3, output: 6}]}
  stepped: {input: 2, output: 8, tiers: [{min_prompt_tokens: 200000, input: 4, output: 16}]}
"""


class TestAudit:
    @pytest.fixture(autouse=True)
    def entries(self, prices: Path) -> None:
        prices.write_text(PRICES, encoding="utf-8")

    def audited(self, cli, book: HandMadeLedger) -> tuple[int, dict[str, Any]]:
        answer = cli("pricing", "audit", "--json", "--db", book.path)
        return answer.code, json.loads(answer.out)

    def test_each_step_charges_the_tokens_that_were_seen(
        self, cli, book: HandMadeLedger, tariffs: dict[str, host.Tariff]
    ) -> None:
        tariffs["moved"] = tariff(2, 16, cache_read=Decimal("0.5"), request=Decimal("0.25"))
        book.call("a", 3.0, model="moved", tokens_in=500_000, tokens_out=250_000)
        book.call("a", None, model="moved", cache_read_tokens=1_000_000)
        # Listed: 1 + 2 + 2 (no cache rate). Tariff: 1 + 4 + 0.5, and 0.25 for each of two calls.
        code, report = self.audited(cli, book)
        assert (code, report["differing"]) == (1, 1)
        (model,) = report["models"]
        assert model == {
            "model": "moved",
            "provider": "p",
            "calls": 2,
            "unpriced_calls": 1,
            "undated_calls": 0,
            "recorded_usd": 3.0,
            "differs": True,
            "steps": [
                {
                    "step": 1,
                    "basis": "listed",
                    "source": "pricing.yaml",
                    "matched_id": "moved",
                    "usd": 5.0,
                    "unpriced_calls": 0,
                    "difference": 0.0,
                    "differs": False,
                },
                {
                    "step": 5,
                    "basis": "tariff",
                    "source": None,
                    "matched_id": "moved",
                    "usd": 6.0,
                    "unpriced_calls": 0,
                    "difference": 0.2,
                    "differs": True,
                },
            ],
        }
        lines = cli("pricing", "audit", "--db", book.path).out.splitlines()
        assert [" ".join(line.split()) for line in lines[2:]] == [
            "moved p 2 ≥ $3.00 (1 unpriced) 1 listed $5.00",
            "moved p 2 ≥ $3.00 (1 unpriced) 5 tariff $6.00 +20.0% !",
            "models whose steps differ by more than 5% (!): 1",
        ]

    def test_five_per_cent_are_no_difference(
        self, cli, book: HandMadeLedger, tariffs: dict[str, host.Tariff]
    ) -> None:
        tariffs["moved"] = tariff(2.1, 8)
        tariffs["steady"] = tariff(2.1001, 8)
        for model in ("moved", "steady"):
            book.call("a", 2.0, model=model, tokens_in=1_000_000)
        code, report = self.audited(cli, book)
        assert code == 1
        assert {each["model"]: each["differs"] for each in report["models"]} == {
            "moved": False,
            "steady": True,
        }

    def test_a_plan_may_cost_less_than_the_list_and_a_gift_may_not(
        self, cli, book: HandMadeLedger, tariffs: dict[str, host.Tariff]
    ) -> None:
        for model in ("gift", "plan"):
            tariffs[model] = tariff(3, 15)
            book.call("a", 0.0, model=model, tokens_in=1_000_000)
        _, report = self.audited(cli, book)
        assert {each["model"]: each["differs"] for each in report["models"]} == {
            "gift": True,
            "plan": False,
        }
        assert "from $0 !" in cli("pricing", "audit", "--db", book.path).out

    def test_a_model_without_a_price_is_named(self, cli, book: HandMadeLedger) -> None:
        book.call("a", None, model="mystery")
        answer = cli("pricing", "audit", "--db", book.path)
        assert (answer.code, answer.err) == (0, "")
        assert "models without a price: 1" in answer.out
        assert self.audited(cli, book)[1]["models"][0]["steps"] == []

    def test_the_tariff_that_the_ledger_holds_is_a_step(self, cli, book: HandMadeLedger) -> None:
        book.tariff(2.0, 16.0, "2026-07-01", model="moved")
        book.call("a", 8.0, model="moved", tokens_out=1_000_000)
        _, report = self.audited(cli, book)
        assert [step["usd"] for step in report["models"][0]["steps"]] == [8.0, 16.0]

    @pytest.mark.parametrize("time", ["16:29:59", "16:30:00"])
    def test_each_call_is_charged_at_the_rates_of_its_time(
        self, cli, book: HandMadeLedger, prices: Path, prices_at: Callable[[str], None], time: str
    ) -> None:
        prices.write_text(NIGHTLY, encoding="utf-8")
        prices_at(time)
        book.tariff(2.0, 8.0, "2026-07-01T00:00:00", model="nightly")
        book.tariff(4.0, 8.0, "2026-07-01T16:30:00", model="nightly")
        for at in (
            "2026-06-30T23:59:59",  # listed 1, tariff 2: the earliest that is known
            "2026-07-01T00:29:59",  # 1, 2
            "2026-07-01T00:30:00",  # 2, 2
            "2026-07-01T16:29:59.999999",  # 2, 2
            "2026-07-01T16:30:00",  # 1, 4
            "2026-07-02T12:00:00",  # 2, 4
        ):
            book.call("a", 1.0, at, model="nightly", tokens_in=1_000_000)
        (model,) = self.audited(cli, book)[1]["models"]
        assert [
            (step["step"], step["usd"], step["unpriced_calls"], step["difference"])
            for step in model["steps"]
        ] == [(1, 9.0, 0, 0.0), (5, 16.0, 0, pytest.approx(7 / 9))]

    def test_a_price_that_is_announced_holds_from_its_first_day_on(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        prices.write_text(NIGHTLY, encoding="utf-8")
        for at in ("2026-07-01T23:59:59", "2026-07-02T00:00:00", "2026-07-09T00:00:00"):
            book.call("a", 1.0, at, model="announced", tokens_in=1_000_000)
        # 1 + 3 + 3
        assert self.audited(cli, book)[1]["models"][0]["steps"][0]["usd"] == 7.0

    def test_a_long_prompt_is_charged_at_its_tier(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        prices.write_text(NIGHTLY, encoding="utf-8")
        long, short = {"tokens_in": 150_000, "cache_read_tokens": 50_000}, {"tokens_in": 199_999}
        for tokens in (long, short, short):
            book.call("a", 1.0, model="stepped", **tokens)
        # 200,000 at 4 (the tier names no rate for the cache), 2 * 199,999 at 2.
        (step,) = self.audited(cli, book)[1]["models"][0]["steps"]
        assert step["usd"] == pytest.approx(0.8 + 0.799996, abs=1e-12)

    def test_a_call_of_no_known_time_is_left_out_where_the_time_counts(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        prices.write_text(NIGHTLY, encoding="utf-8")
        for model in ("nightly", "stepped"):
            for at in ("2026-07-01T12:00:00", "noon+00:00"):
                book.call("a", 1.0, at, model=model, tokens_in=100_000)
        # 0.1 M at 2, once and twice.
        assert [
            (model["model"], model["calls"], model["undated_calls"], model["steps"][0]["usd"])
            for model in self.audited(cli, book)[1]["models"]
        ] == [("nightly", 2, 1, 0.2), ("stepped", 2, 0, 0.4)]
        assert "their time cannot be told, and so no price: 1\n" in (
            cli("pricing", "audit", "--db", book.path).out
        )

    def test_a_step_that_knows_some_of_the_calls_is_compared_for_those(
        self, cli, book: HandMadeLedger, prices: Path
    ) -> None:
        prices.write_text(NIGHTLY, encoding="utf-8")
        book.tariff(3.0, 8.0, "2026-07-01T00:00:00", model="nightly")
        book.tariff(-1.0, -1.0, "2026-07-02T00:00:00", model="nightly")  # no fixed price
        for at in ("2026-07-01T12:00:00", "2026-07-02T12:00:00"):
            book.call("a", 1.0, at, model="nightly", tokens_in=1_000_000)
        listed, tariff = self.audited(cli, book)[1]["models"][0]["steps"]
        assert (listed["usd"], listed["unpriced_calls"]) == (4.0, 0)
        # 3 in place of the 2 of the one call.
        assert (tariff["usd"], tariff["unpriced_calls"], tariff["difference"]) == (3.0, 1, 0.5)
        shown = cli("pricing", "audit", "--db", book.path).out.splitlines()[3]
        assert shown.split()[-6:] == ["≥", "$3.00", "(1", "unpriced)", "+50.0%", "!"]


@pytest.mark.parametrize("action", ["backfill", "drift", "audit"])
def test_a_file_of_another_kind_is_one_line(
    refused: Callable[..., str], tmp_path: Path, action: str
) -> None:
    assert "there is no file" in refused("pricing", action, "--db", tmp_path / "no.db")
    older = old_ledger.build(tmp_path / "v12.db", 12)
    advice = f"run `hermes-telemetry migrate --db {older}` first"
    assert advice in refused("pricing", action, "--db", older)


def test_snapshots_are_dated_by_the_time_of_asking(
    cli, book: HandMadeLedger, tariffs: dict[str, host.Tariff]
) -> None:
    book.call("a", None, model="new")
    tariffs["new"] = tariff(3, 4)
    cli("pricing", "backfill", "--apply", "--db", book.path)
    ((captured,),) = ask_ledger(book.path, "select captured_at from pricing_snapshots")
    assert captured > stored("2026-07-01")
