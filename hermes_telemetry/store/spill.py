"""Where records wait that the ledger could not take.

One line of JSON per transaction in ``telemetry.spill.ndjson`` beside the database; past half a
megabyte, and whenever it is read back, the file is renamed to a batch. A batch comes in by one
transaction together with a marker row (``endpoint_payload_cache``, cache_name 'spill', cache_key
the batch's name) and is removed afterwards; a batch whose marker exists is only removed, so each
record comes in exactly once even when the process dies between the two. Where not even the spill
file can be written, records stay in memory, a bounded number of them, until file or ledger takes
them, and what is dropped is counted.
"""

from __future__ import annotations

import errno
import glob
import json
import logging
import os
import sqlite3
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..file_locks import hold
from ..paths import spill_path
from ..windows import Clock, timestamp
from .writes import Write

_log = logging.getLogger("hermes_telemetry")

BATCH_BYTES = 512 * 1024
MEMORY_LINES = 10_000
LINES_FROM_MEMORY = 500
"""How many records one transaction or one append takes from memory: some 50 ms of work."""

LOOK_AGAIN_S = 60.0
_LOCK_TRIES = 40
_LOCK_PAUSE_S = 0.001


@dataclass(frozen=True)
class Batch:
    """Spilled records on their way in: one line each; ``path`` None for those kept in memory."""

    name: str
    path: Path | None
    lines: tuple[str, ...]


class Spill:
    """The spill file of one ledger, used by many threads and processes."""

    def __init__(self, database: Path, clock: Clock) -> None:
        self.path = spill_path(database)
        self._path_text = str(self.path)
        self._clock = clock
        self._memory: deque[str] = deque()
        self._memory_lock = threading.Lock()
        self.dropped = 0
        self._look_at = 0.0  # by the monotonic clock: at once, for what earlier processes left
        self._unremovable: set[str] = set()

    def keep(self, writes: Sequence[Write]) -> str:
        """Append one transaction; where it waits now, in words for the log.

        Never raises OSError: what the disk refuses stays in memory.
        """
        line = json.dumps(
            {
                "at": timestamp(self._clock.now()),
                "writes": [[write.name, write.fields] for write in writes],
            }
        )
        try:
            self._write_out_memory()  # older records first
            self._append([line])
        except OSError as error:
            self._remember(line, error)
            return f"in memory until the process ends, since {self.path} cannot be written"
        return f"in {self.path}"

    def waiting(self) -> bool:
        """Whether anything may wait: a stat, and once a minute a look for batches of others."""
        return (
            bool(self._memory or self.dropped)
            or self._clock.monotonic() >= self._look_at
            or os.access(self._path_text, os.F_OK)  # at every write: a third of Path.exists
        )

    def oldest(self) -> Batch | None:
        """The batch that waits longest, None when nothing does; the spill file may become it.

        Records in memory come last, being the newest: they go to the file as soon as it takes
        them. They are the caller's until they are in or put back.
        """
        # Before the look: what another thread keeps meanwhile must be looked for once more.
        self._look_at = self._clock.monotonic() + LOOK_AGAIN_S
        batch = self._oldest_on_disk()
        if batch is None:
            self._rotate()
            batch = self._oldest_on_disk()
        if batch is None:
            batch = self._from_memory()
        if batch is not None:
            self._look_at = 0.0  # there may be more
        return batch

    def put_back(self, batch: Batch) -> None:
        """The batch did not come in: it waits on, where it was."""
        if batch.path is None:
            with self._memory_lock:
                self._memory.extendleft(reversed(batch.lines))

    def set_aside(self, rejected: Sequence[str]) -> None:
        """Keep lines that no ledger would take in a file of their own, for a human.

        Before their batch is committed: killed in between, a process leaves them there twice
        rather than nowhere.
        """
        aside = self.path.with_suffix(".rejected")
        try:
            with open(aside, "a", encoding="utf-8", opener=_private) as file:
                file.writelines(line + "\n" for line in rejected)
        except OSError as error:
            _log.error("%s damaged records cannot be set aside: %s", len(rejected), error)

    def discard(self, batch: Batch) -> None:
        """The batch is in: remove it."""
        if batch.path is None:
            return
        try:
            batch.path.unlink(missing_ok=True)
        except OSError as error:
            # Its marker tells every process that it is in: it must not stand in the way of others.
            self._unremovable.add(batch.name)
            _log.warning("%s has come in and cannot be removed: %s", batch.path, error)

    def batches(self) -> list[Path]:
        """Renamed files that still wait, oldest first: their names begin with when."""
        pattern = f"{glob.escape(self.path.stem)}.*{self.path.suffix}"
        return sorted(self.path.parent.glob(pattern))

    def waiting_lines(self) -> int:
        """How many transactions wait on disk (for ``doctor``)."""
        return sum(_lines(file) for file in [self.path, *self.batches()])

    def counted(self, dropped: int) -> None:
        """The ledger has counted so many of the dropped records."""
        with self._memory_lock:
            self.dropped -= dropped

    def _oldest_on_disk(self) -> Batch | None:
        for path in self.batches():
            if path.name in self._unremovable:
                continue
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # another process brought it in, or it is another user's: not in our way
            # A process that was killed while it wrote leaves a last line without an end.
            return Batch(path.name, path, tuple(line for line in text.split("\n") if line))
        return None

    def _from_memory(self) -> Batch | None:
        with self._memory_lock:
            count = min(len(self._memory), LINES_FROM_MEMORY)
            lines = tuple(self._memory.popleft() for _ in range(count))
        return Batch(name="", path=None, lines=lines) if lines else None

    def _write_out_memory(self) -> None:
        if not self._memory:
            return
        with self._memory_lock:
            while self._memory:
                lines = list(islice(self._memory, LINES_FROM_MEMORY))
                self._append(lines)
                for _ in lines:
                    self._memory.popleft()

    def _remember(self, line: str, error: OSError) -> None:
        with self._memory_lock:
            if len(self._memory) >= MEMORY_LINES:
                self.dropped += 1
                if self.dropped == 1:
                    _log.error(
                        "records are dropped: neither ledger nor spill file takes them (%s)", error
                    )
            else:
                self._memory.append(line)

    def _append(self, lines: Sequence[str]) -> None:
        """Append the lines, all or none. Raises OSError."""
        data = "".join(line + "\n" for line in lines).encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked(create=True) as file:
            size = os.lseek(file, 0, os.SEEK_END)
            if size:
                os.lseek(file, size - 1, os.SEEK_SET)
                if os.read(file, 1) != b"\n":
                    # A process was killed while it wrote: its half line must not spoil ours.
                    data = b"\n" + data
            try:
                written = os.write(file, data)
                if written != len(data):
                    raise OSError(errno.ENOSPC, "the record did not fit")
            except OSError:
                # Half a line would be taken for a damaged record.
                os.ftruncate(file, size)
                raise
            if size + len(data) > BATCH_BYTES:
                with suppress(OSError):  # the records are kept: the file is only longer than wished
                    self._rename()
        # Any process may take the file away at once: looked for until nothing waits any more.
        self._look_at = 0.0

    def _rotate(self) -> None:
        with suppress(OSError), self._locked(create=False):
            self._rename()

    def _rename(self) -> None:
        # Under the lock: whoever waits for it finds another file behind the name, and opens that.
        when = self._clock.now().strftime("%Y%m%dT%H%M%S.%f")
        name = f"{self.path.stem}.{when}-{uuid.uuid4().hex[:8]}{self.path.suffix}"
        self.path.rename(self.path.with_name(name))

    @contextmanager
    def _locked(self, *, create: bool) -> Iterator[int]:
        """The current spill file, open for appending and locked against other processes."""
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
        for _ in range(_LOCK_TRIES):
            file = os.open(self.path, flags, 0o600)
            try:
                hold(file, wait=False)
                if self._is_current(file):
                    yield file
                    return
            except BlockingIOError:
                self._clock.sleep(_LOCK_PAUSE_S)
            finally:
                os.close(file)
        raise OSError(errno.EAGAIN, f"{self.path} stays locked")

    def _is_current(self, file: int) -> bool:
        mine = os.fstat(file)
        try:
            named = self.path.stat()
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)


def _lines(file: Path) -> int:
    try:
        return len(file.read_bytes().splitlines())
    except FileNotFoundError:  # a recorder beside us has just brought it in
        return 0


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def mark_batch(conn: sqlite3.Connection, *, name: str, lines: int, ts: str) -> bool:
    """Note inside the batch's own transaction that it came in; False when it had already."""
    cursor = conn.execute(
        """
        insert or ignore into endpoint_payload_cache
          (cache_name, cache_key, payload_json, rows_count, built_at)
        values ('spill', ?, '{}', ?, ?)
        """,
        (name, lines, ts),
    )
    return cursor.rowcount == 1


def parse_line(line: str) -> list[Write]:
    """The writes of one spilled transaction. Raises ValueError for a damaged line."""
    try:
        record: dict[str, Any] = json.loads(line)
        return [Write(str(name), dict(fields)) for name, fields in record["writes"]]
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a spilled record: {error}") from error
