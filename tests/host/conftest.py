"""A real Hermes Agent for every scenario, with a home and a provider of its own."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.host import Host, StartHost
from support.provider import Provider


@pytest.fixture(scope="module")
def start_host(tmp_path_factory: pytest.TempPathFactory, host_python: Path) -> Iterator[StartHost]:
    """Makes hosts: `start_host(python=…, profile=…)`; each one's script must have sufficed."""
    hosts: list[Host] = []
    with ExitStack() as providers:

        def start(python: Path = host_python, profile: str | None = None) -> Host:
            provider = providers.enter_context(Provider())
            host = Host(tmp_path_factory.mktemp("host"), python, provider, profile)
            hosts.append(host)
            return host

        yield start
    assert [request.body for host in hosts for request in host.provider.off_script] == []
