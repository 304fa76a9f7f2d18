"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_new(path: Path, content: bytes, mode: int) -> bool:
    """Make a file with these permissions; False, and nothing changes, if the name is taken.

    A link that leads nowhere takes it, too. Raises OSError if the folder cannot be written.
    """
    if os.path.lexists(path):
        return False
    with _written(path, content) as made:
        made.chmod(mode)
        try:
            publish(made, path)
        except FileExistsError:  # since the look above
            return False
    return True


def replace(path: Path, content: bytes, expected: bytes) -> bool:
    """Put ``content`` in the place of a file's, with its permissions and, where that is allowed,
    its owner; False, and nothing changes, if the file does not hold ``expected`` any more.

    A link stays a link. Raises OSError.
    """
    path = Path(os.path.realpath(path))
    status = path.stat()
    with _written(path, content) as made:
        with suppress(PermissionError, AttributeError):  # Windows has no owners of this kind
            os.chown(made, status.st_uid, status.st_gid)
        made.chmod(status.st_mode & 0o7777)
        if path.read_bytes() != expected:
            return False
        os.replace(made, path)
    return True


def publish(made: Path, path: Path) -> None:
    """Move a complete file to its name, which is on the same file system. Raises FileExistsError if
    that is taken, and OSError; ``made`` stays then.
    """
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the name is claimed first, and an empty file of ours is
        # all that the move overwrites.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            os.replace(made, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise
    else:
        made.unlink()


@contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """A complete file beside ``path``, which is gone after the block unless it was moved."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
