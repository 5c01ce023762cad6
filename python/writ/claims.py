"""Claims jobs for all free slots of a worker in one call, and hands them to the slots. Why: ADR 0127."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Callable, Optional

from .connection import Connection, pause_sec
from .errors import WritError

claim_wait_ms = 5_000
# The most that a hub gives at once.
batch_jobs_max = 256
# An empty answer within less time means that the hub does not let claims of this worker wait, as while it is paused.
waited_sec_min = 1.0
# A slot that waits looks this often whether it is still wanted.
look_sec = 0.25


class Claims:
    """
    One thread claims; slots wait for what it gets. It asks for as many jobs as slots are free, so that no job that was claimed
    waits for a slot.
    """

    def __init__(
        self,
        hub: Connection,
        *,
        worker_id: str,
        boot_id: str,
        verified: Callable[[dict[str, Any]], list[Any]],
        is_stopped: Callable[[], bool],
        is_draining: Callable[[], bool],
        pause: Callable[[float], Any],
        on_answer: Callable[[], None],
        on_refusal: Callable[[WritError, int], None],
    ) -> None:
        self._hub, self._worker_id, self._boot_id = hub, worker_id, boot_id
        self._verified, self._is_stopped, self._is_draining = verified, is_stopped, is_draining
        self._pause, self._on_answer, self._on_refusal = pause, on_answer, on_refusal
        lock = threading.Lock()
        self._slot_is_free, self._job_is_there = threading.Condition(lock), threading.Condition(lock)
        self._waiting = 0
        self._claimed: deque[Any] = deque()
        self._is_over = False

    def take(self) -> Optional[Any]:
        """A claim for the slot that calls; None after a while, so that it can look whether it is still wanted."""
        with self._job_is_there:
            self._waiting += 1
            self._slot_is_free.notify()
            try:
                if not self._claimed:
                    self._job_is_there.wait(look_sec)
                return self._claimed.popleft() if self._claimed else None
            finally:
                self._waiting -= 1

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        with self._job_is_there:
            return self._is_over and not self._claimed

    def run(self) -> None:
        """Claims until the worker is stopped."""
        try:
            self._run()
        finally:
            with self._job_is_there:
                self._is_over = True
                self._job_is_there.notify_all()

    def _run(self) -> None:
        failures, empty = 0, 0
        while not self._is_stopped():
            if self._is_draining():
                self._pause(1.0)
                continue
            free = self._free()
            if free == 0:
                continue
            asked_at = time.monotonic()
            try:
                answer = self._claim(free)
                self._on_answer()
                failures = 0
            except WritError as error:
                failures += 1
                self._on_refusal(error, failures)
                self._pause(error.retry_after_sec or pause_sec(failures))
                continue
            if answer is not None:
                empty = 0
                self._hand_out(self._verified(answer))
            elif time.monotonic() - asked_at >= waited_sec_min:
                empty = 0
            else:
                self._pause(pause_sec(empty))
                empty += 1

    def _free(self) -> int:
        """How many slots wait for a job; 0 after a while, so that a stop is noticed."""
        with self._slot_is_free:
            if self._waiting <= len(self._claimed):
                self._slot_is_free.wait(look_sec)
            return min(batch_jobs_max, max(0, self._waiting - len(self._claimed)))

    def _claim(self, free: int) -> Optional[dict[str, Any]]:
        body = {"worker_id": self._worker_id, "boot_id": self._boot_id, "max": free, "wait_ms": claim_wait_ms}
        answer = self._hub.call("POST", "/jobs/claim-batch", body, timeout_sec=claim_wait_ms / 1000 + 30)
        if answer is None:
            return None
        jobs = answer.get("jobs") if isinstance(answer, dict) else None
        if not isinstance(jobs, list) or not all(_is_claim(job) for job in jobs):
            raise WritError("HTTP_ERROR", "what was answered is not an answer of a hub", status=502)
        return answer if jobs else None

    def _hand_out(self, claims: list[Any]) -> None:
        with self._job_is_there:
            self._claimed.extend(claims)
            self._job_is_there.notify(len(claims))


def _is_claim(job: Any) -> bool:
    return isinstance(job, dict) and all(isinstance(job.get(name), str) for name in ("id", "document", "lease"))
