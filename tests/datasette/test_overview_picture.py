"""The picture of the overview: a bar a day, what it is made of and what is marked."""

from collections.abc import Callable
from pathlib import Path

from support.datasette_site import Site
from support.ledger import HandMadeLedger
from support.pages import pictures

Sites = Callable[..., Site]

PATH = "/-/telemetry"


def test_each_bar_leads_to_its_day(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.daily("2026-06-01", "2026-07-22", 1.0)
    site = sites(ledger)
    html = site.get(PATH).text
    (picture,) = [one for one in pictures(html) if one.get("role") == "group"]
    links = [node for node in picture.iter() if node.tag.endswith("}a")]
    assert len(links) == 22
    days = [node.get("href").partition("?")[2] for node in links]
    assert days[0] == "since=2026-07-01&until=2026-07-01"
    assert links[21].get("aria-label") == "Wednesday 22 July 2026: $1.00"
    # Today is not over: white lines lie on its bar alone.
    hatched = ["url(#tm-hatch)" in "".join(n.get("fill", "") for n in a.iter()) for a in links]
    assert hatched == [False] * 21 + [True]
    words = "".join(links[21].itertext())
    assert words.startswith("Wednesday 22 July 2026: $1.00, so far")
    assert "Today $1.00" in site.page(links[21].get("href")).text


def test_five_models_have_a_colour_and_the_rest_share_one(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    for number in range(8):
        july.call("s", 2.0**-number, "2026-07-20T09:00", model=f"m{number}")
    site = sites(ledger)
    said = site.get(f"{PATH}.json").json()
    assert [one["model"] for one in said["models"]] == ["m0", "m1", "m2", "m3", "m4"]
    # 1/32 + 1/64 + 1/128
    assert said["other_models"] == {
        "models": 3,
        "cost_usd": 0.0546875,
        "calls": 3,
        "unpriced_calls": 0,
    }
    bar = next(bar for bar in said["spend"] if bar["since"] == "2026-07-20")
    assert bar["models_usd"] == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert bar["others_usd"] == 0.0546875
    (picture,) = [one for one in pictures(site.get(PATH).text) if one.get("role") == "group"]
    fills = [node.get("fill") for node in picture.iter()]
    for colour in ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#767d8a"):
        assert fills.count(colour) == 1
    assert "3 others" in site.page(PATH).text


def test_dear_days_and_changed_prices_are_marked(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.daily("2026-06-15", "2026-07-22", 1.0)
    july.call("s", 7.0, "2026-07-10T10:00")
    july.tariff(2.0, 4.0, "2026-06-01T00:00")
    july.tariff(2.0, 4.0, "2026-07-05T00:00")  # noted again, and the same
    july.tariff(3.0, 4.0, "2026-07-12T08:00")
    site = sites(ledger)
    (picture,) = [one for one in pictures(site.get(PATH).text) if one.get("role") == "group"]
    words = {
        node.get("aria-label").partition(":")[0]: "".join(node.itertext())
        for node in picture.iter()
        if node.tag.endswith("}a")
    }
    assert [day for day, said in words.items() if "▲" in said] == ["Friday 10 July 2026"]
    assert "▲ $7.00 above the median $1.00" in words["Friday 10 July 2026"]
    assert [day for day, said in words.items() if "┊" in said] == ["Sunday 12 July 2026"]
    assert "┊ the price of m changed by +50 %" in words["Sunday 12 July 2026"]
    assert "The price of m changed by +50 %, 12 Jul 08:00:00" in site.page(PATH).text


def test_the_period_before_stands_behind_day_for_day(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    july.call("s", 4.0, "2026-07-13T09:00")
    july.call("s", 2.0, "2026-07-20T09:00")
    bars = sites(ledger).get(f"{PATH}.json?since=2026-07-16&until=2026-07-22").json()["spend"]
    # Seven days before are 9 to 15 July: the 13th is the fifth of them, and the 20th of these.
    assert [bar["before_usd"] for bar in bars] == [0, 0, 0, 0, 4.0, 0, 0]
    assert [bar["cost_usd"] for bar in bars] == [0, 0, 0, 0, 2.0, 0, 0]


def test_of_today_only_as_much_of_the_day_before_stands_behind(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # Today, at noon, is compared with the 15th until noon; the days before are whole.
    for day, usd in (("14", 1.0), ("15", 2.0)):
        july.call("s", usd, f"2026-07-{day}T09:00")
        july.call("s", 64.0, f"2026-07-{day}T13:00")
    bars = sites(ledger).get(f"{PATH}.json?since=2026-07-16").json()["spend"]
    assert [bar["before_usd"] for bar in bars] == [0, 0, 0, 0, 0, 65.0, 2.0]


def test_a_bar_of_a_part_of_a_day_leads_to_that_part(
    sites: Sites, ledger: Path, july: HandMadeLedger
) -> None:
    # 36 hours before noon of the 22nd are from midnight of the 21st, 30 from six.
    july.call("s", 8.0, "2026-07-21T05:59:59")
    july.call("s", 1.0, "2026-07-21T06:00:00")
    july.call("s", 2.0, "2026-07-22T09:00:00")
    site = sites(ledger)
    said = site.get(f"{PATH}.json?since=30h").json()
    assert [bar["cost_usd"] for bar in said["spend"]] == [1.0, 2.0]
    assert [bar["before_usd"] for bar in said["spend"]] == [None, None]
    (picture,) = [
        one for one in pictures(site.get(f"{PATH}?since=30h").text) if one.get("role") == "group"
    ]
    first, _ = (node.get("href") for node in picture.iter() if node.tag.endswith("}a"))
    assert site.get(first.replace("telemetry?", "telemetry.json?")).json()["total"] == {
        "cost_usd": 1.0,
        "calls": 1,
        "unpriced_calls": 0,
    }


def test_long_periods_have_longer_steps(sites: Sites, ledger: Path, july: HandMadeLedger) -> None:
    july.daily("2026-01-01", "2026-07-22", 1.0)
    said = sites(ledger).get(f"{PATH}.json?since=2026-01-01").json()
    assert said["step"] == "week"
    # Weeks begin on Monday, but this period on a Thursday; its last one is not over.
    assert (said["spend"][0]["since"], said["spend"][0]["until"]) == ("2026-01-01", "2026-01-04")
    assert said["spend"][0]["cost_usd"] == 4.0
    assert (said["spend"][-1]["since"], said["spend"][-1]["until"]) == ("2026-07-20", "2026-07-22")
    assert sum(bar["cost_usd"] for bar in said["spend"]) == said["total"]["cost_usd"] == 203.0
