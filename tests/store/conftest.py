"""A recorder on a ledger of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.recording import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(tmp_path)
    yield recording
    recording.close()
