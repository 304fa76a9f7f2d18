"""Prices that only the host can find: in the model list of the endpoint that it calls."""

import pytest

from support.host import Host, StartHost, nano
from support.provider import Text, Usage

pytestmark = pytest.mark.host

ANSWER = Usage(prompt=1200, cached=1000, output=34, reasoning=10)


def one_shot(host: Host, listed: dict[str, str]) -> None:
    host.set_prices({})
    host.provider.listed_prices = listed
    host.provider.answer("say hello", Text("hello", ANSWER))
    finished = host.run("-z", "say hello")
    assert (finished.returncode, finished.stdout.split()) == (0, ["hello"])


@pytest.fixture(scope="module")
def priced(start_host: StartHost) -> Host:
    host = start_host()
    one_shot(
        host, {"prompt": "0.000002", "completion": "0.000010", "input_cache_read": "0.0000005"}
    )
    return host


def test_even_the_first_call_of_a_one_shot_run_is_priced(priced: Host) -> None:
    # 200 * 2 + 1000 * 0.5 + 34 * 10 = 1240 micro-dollars.
    assert priced.rows("select cost_usd, estimated, provider_assumed from llm_calls") == [
        (nano(0.001240), 0, 0)
    ]
    assert priced.rows("select cost_usd from runs") == [(nano(0.001240),)]


def test_the_price_record_names_the_hosts_tariff(priced: Host) -> None:
    assert priced.rows(
        "select basis, source, matched_id, input, output, cache_read"
        " from llm_call_prices join prices_used on prices_used.id = price_id"
    ) == [("tariff", "provider_models_api", "fake-model", 2.0, 10.0, 0.5)]


def test_the_tariff_is_kept_as_a_snapshot(priced: Host) -> None:
    assert priced.rows(
        "select provider, model, input_cost_per_million, output_cost_per_million,"
        " cache_read_cost_per_million, source, pricing_version, resolved_model"
        " from pricing_snapshots"
    ) == [
        (
            "custom",
            "fake-model",
            pytest.approx(2.0),
            pytest.approx(10.0),
            pytest.approx(0.5),
            "provider_models_api",
            "openai-compatible-models-api",
            None,
        )
    ]


def test_a_tariff_of_minus_one_prices_nothing_and_frees_nothing(start_host: StartHost) -> None:
    host = start_host()
    one_shot(host, {"prompt": "-1", "completion": "-1"})
    assert host.rows("select cost_usd from llm_calls") == [(None,)]
    assert host.rows("select count(*) from known_free_models") == [(0,)]
    assert host.rows("select count(*) from pricing_snapshots") == [(0,)]
