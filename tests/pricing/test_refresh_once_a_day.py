"""A refresh by itself: at most once a day, and whoever is killed in it does not use the day up."""

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.pricing.refresh import refresh, refresh_if_due
from support import feed as answers
from support.feed import Feed, model, models
from support.processes import fork
from support.stopped_clock import StoppedClock


class TestOnceADay:
    @pytest.fixture(autouse=True)
    def _url(self, home: Path, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HERMES_TELEMETRY_NO_SETUP", raising=False)
        (home / "pricing.yaml").write_text(f"refresh: {{openrouter_url: '{feed.url}'}}\n")
        feed.answer(models(model("a/x")))

    def test_a_day_must_pass_between_two_refreshes(
        self, home: Path, feed: Feed, time: StoppedClock
    ) -> None:
        report = refresh_if_due(home, time.clock)
        assert report is not None
        assert "a/x" in report.added
        time.advance(24 * 3600 - 1)
        assert refresh_if_due(home, time.clock) is None
        time.advance(1)
        assert refresh_if_due(home, time.clock) is not None
        assert feed.requests == ["/models"] * 2

    def test_the_mark_is_the_files_time_of_change(
        self, home: Path, feed: Feed, time: StoppedClock
    ) -> None:
        now = time.clock.now().timestamp()
        (home / ".pricing_refresh").touch()
        os.utime(home / ".pricing_refresh", (now - 3600, now - 3600))
        assert refresh_if_due(home, time.clock) is None
        assert feed.requests == []

    def test_a_mark_from_the_future_does_not_stop_refreshing(
        self, home: Path, time: StoppedClock
    ) -> None:
        later = time.clock.now().timestamp() + 10 * 86400
        (home / ".pricing_refresh").touch()
        os.utime(home / ".pricing_refresh", (later, later))
        assert refresh_if_due(home, time.clock) is not None

    def test_a_failed_try_counts_and_is_told_in_one_line(
        self, home: Path, feed: Feed, time: StoppedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        feed.answer(answers.body(b"", 503))
        assert refresh_if_due(home, time.clock) is not None
        assert refresh_if_due(home, time.clock) is None
        assert feed.requests == ["/models"]
        told = [r.getMessage() for r in caplog.records if "former prices" in r.getMessage()]
        assert told == ["openrouter: HTTP status 503; its former prices stay"]

    def test_a_process_that_is_ended_in_a_refresh_claims_ten_minutes_not_a_day(
        self, home: Path, feed: Feed, time: StoppedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def end(*arguments: Any, **options: Any) -> None:
            os._exit(7)

        def refresh_until_ended() -> None:
            monkeypatch.setattr("hermes_telemetry.pricing.refresh.all_sources", end)
            refresh_if_due(home, time.clock)

        assert fork(refresh_until_ended) == 7
        time.advance(599)
        assert refresh_if_due(home, time.clock) is None
        time.advance(1)
        assert refresh_if_due(home, time.clock) is not None
        time.advance(24 * 3600 - 1)
        assert refresh_if_due(home, time.clock) is None

    def test_no_setup_means_no_refresh_by_itself_but_the_command_works(
        self, home: Path, feed: Feed, time: StoppedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
        assert refresh_if_due(home, time.clock) is None
        assert not (home / ".pricing_refresh").exists()
        assert "a/x" in refresh(home, clock=time.clock).added

    def test_a_refresh_by_itself_never_raises(
        self, home: Path, time: StoppedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        (home / "pricing.yaml").write_text("models: [")
        assert refresh_if_due(home, time.clock) is None
        assert [r.levelno for r in caplog.records] == [logging.WARNING]
