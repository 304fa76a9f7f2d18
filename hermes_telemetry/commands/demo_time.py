"""The demo's clock: microseconds since 1970 as integers, so that sums are exact everywhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MS = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def moment(microseconds: int) -> datetime:
    """The UTC datetime of a time on the demo's clock."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(when: datetime) -> int:
    """An aware datetime on the demo's clock."""
    return (when - _EPOCH) // timedelta(microseconds=1)
