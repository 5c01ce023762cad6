"""Logs in few lines that the hub is away and that it is back, even if many threads notice it."""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional

from .errors import HubUnreachable, WritError

remind_sec = 60.0
# A hub that is just going down still answers on some connections and refuses others.
settled_sec = 1.0


class HubPresence:
    """One line when the hub is lost, one a minute while it is away, and one when it is back. Safe for many threads."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._away_since: Optional[float] = None
        self._noticed_at = self._told_at = 0.0

    @property
    def is_away(self) -> bool:
        return self._away_since is not None

    def away(self, error: WritError) -> None:
        line = self._line_of(error)
        if line is not None:
            self._log(f"{line}; trying again until it is back ({error.message})")

    def _line_of(self, error: WritError) -> Optional[str]:
        with self._lock:
            now = self._noticed_at = time.monotonic()
            if self._away_since is None:
                self._away_since = self._told_at = now
                is_silent = isinstance(error, HubUnreachable)
                return f"the hub {'cannot be reached' if is_silent else 'does not serve this worker at present'}"
            if now - self._told_at < remind_sec:
                return None
            self._told_at = now
            return f"the hub has been away for {_how_long(now - self._away_since)}"

    def back(self) -> None:
        with self._lock:
            now = time.monotonic()
            if self._away_since is None or now - self._noticed_at < settled_sec:
                return
            how_long, self._away_since = _how_long(now - self._away_since), None
        self._log(f"the hub is back after {how_long}")


def _how_long(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 120 else f"{round(seconds / 60)} min"
