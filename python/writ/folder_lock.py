"""
A lock on the folder in which a worker keeps its key: one process works under a name on this machine. Why: ADR 0104.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import Optional

_lock = threading.Lock()
# A lock of the operating system is the process's own, so two workers of one process would both get it.
_held_here: set[str] = set()


class FolderLock:
    """Ends with the process, however that ends, so a worker that was killed can be started again at once."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._file: Optional[int] = None

    def try_take(self) -> bool:
        """Whether this worker has the folder now."""
        with _lock:
            if self.folder in _held_here:
                return False
            self._file = _locked(os.path.join(self.folder, "worker.lock"))
            if self._file is None:
                return False
            _held_here.add(self.folder)
            return True

    def release(self) -> None:
        with _lock:
            if self._file is not None:
                _held_here.discard(self.folder)
                os.close(self._file)
                self._file = None

    @property
    def holder(self) -> str:
        """The id of the process that has it. Only for people: the lock itself shows whether somebody is there."""
        try:
            with open(os.path.join(self.folder, "worker.pid"), encoding="ascii", errors="replace") as file:
                return file.read(20).strip() or "unknown"
        except OSError:
            return "unknown"


def _locked(path: str) -> Optional[int]:
    """The file, locked, or None if another process has it."""
    # Not at the top: the client needs no locks, and works where there is no such module.
    import fcntl

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        return None
    # Beside the lock: closing a locked file, if only after reading it, gives up the lock of the whole process.
    with open(f"{path[: -len('.lock')]}.pid", "w", encoding="ascii") as pid_file:
        pid_file.write(f"{os.getpid()}\n")
    return file
