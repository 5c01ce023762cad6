"""Looks at a job until it has ended or the caller's time is over: when, and with how much time for the answer."""

from __future__ import annotations

import time
from typing import Any, Callable, Optional

from .connection import pause_sec
from .errors import TimedOut, WritError

ended = ("completed", "failed", "quarantined")
# Even a caller without any time wants an answer to the first question.
first_look_sec = 1.0
# For the answer to the last question, before the time is over.
last_look_sec = 0.1
pause_sec_max = 1.0


class Looks:
    """`look` asks, and `pause_sec` says how long to wait before the next question. Both raise TimedOut in the end."""

    def __init__(self, read: Callable[..., Any], job_id: str, timeout_sec: Optional[float]) -> None:
        self._read, self._job_id, self._timeout_sec = read, job_id, timeout_sec
        begun_at = time.monotonic()
        self._give_up_at = None if timeout_sec is None else begun_at + timeout_sec
        self._deadline = None if self._give_up_at is None else max(self._give_up_at, begun_at + first_look_sec)
        self._looks = 0
        self._status = ""
        # Why the last question had no answer.
        self._trouble: Optional[WritError] = None
        self._is_last = False

    def look(self) -> Optional[dict[str, Any]]:
        """The job if it has ended. A caller that has given a time wants it to be used, however long the hub is away."""
        if self._is_last:
            raise self._timed_out() from self._trouble
        try:
            job = dict(self._read(self._job_id, deadline=self._deadline))
        except WritError as error:
            if self._deadline is None or not error.is_retryable:
                raise
            self._trouble = error
            return None
        self._deadline, self._status, self._trouble = self._give_up_at, job["status"], None
        return job if self._status in ended else None

    def pause_sec(self) -> float:
        self._looks += 1
        pause = min(pause_sec(self._looks - 1) / 2, pause_sec_max)
        if self._trouble is not None:
            pause = max(pause, self._trouble.retry_after_sec or 0.0)
        if self._give_up_at is None:
            return pause
        left_sec = self._give_up_at - time.monotonic()
        if left_sec <= 0:
            raise self._timed_out() from self._trouble
        self._is_last = left_sec <= last_look_sec
        return left_sec if self._is_last else min(pause, left_sec - last_look_sec)

    def _timed_out(self) -> TimedOut:
        if self._trouble is not None:
            why = self._trouble.message
            return TimedOut(f"the hub did not show job {self._job_id} within {self._timeout_sec} s ({why})")
        return TimedOut(f"job {self._job_id} is still {self._status} after {self._timeout_sec} s")
