"""One writer for a run: a lock that the system lets go when its process ends, however it ends."""

from __future__ import annotations

import os
from pathlib import Path

from austerity.errors import StoreError

NAME = "writer.lock"


class WriterLock:
    """Held from its making until release; a second writer is refused."""

    def __init__(self, directory: Path) -> None:
        """Take the lock of a run's state directory, or raise StoreError."""
        self._handle: int | None = os.open(directory / NAME, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _take(self._handle)
        except BlockingIOError:
            self.release()
            raise StoreError(
                f"The run at {directory.parent} is being written by another process or another run of this one: "
                f"wait for its end, or give another path."
            ) from None

    def release(self) -> None:
        """Let it go; a second call does nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self.release()


def _take(handle: int) -> None:
    """Lock without waiting; BlockingIOError when it is taken."""
    try:
        import fcntl
    except ImportError:  # no such lock on this system: two writers are then not told apart
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # some network file systems have no locks; a run there is worth more than the check
        return
