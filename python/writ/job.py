"""One attempt of one job, as its handler sees it."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from typing import Any, Callable, Optional

from .canonical import canonical, sha256_hex
from .connection import Connection
from .errors import WritError
from .trust import Claim

output_bytes_max = 4 * 1024 * 1024
# What the hub takes with the report of the end.
small_output_bytes_max = 32 * 1024


class Job:
    """Handed to a handler. `cancelled` is set when somebody wants the job to end, or its time is over. Safe for many threads."""

    def __init__(self, hub: Connection, worker_id: str, claim: Claim) -> None:
        lease = claim.lease
        self.id: str = lease["job_id"]
        self.type: str = claim.document["type"]
        self.attempt: int = lease["attempt"]
        self.timeout_sec: int = lease["timeout_sec"]
        self.document = claim.document
        self.cancelled = threading.Event()
        self.is_lost = False
        # Its time is over, whatever it still returns.
        self.timed_out = False
        # Ends the coroutine of a handler that has one.
        self.on_stop: Optional[Callable[[], None]] = None
        # The slot that runs it, so that the slot can be given up.
        self.slot: Any = None
        self._has_ended = False
        # Not the lock of the output, which is held during calls.
        self._end_lock = threading.Lock()
        self.is_announced = False
        self._hub = hub
        self._claim = claim
        self._fence = {"worker_id": worker_id, "attempt": self.attempt, "token": lease["token"]}
        self._started_at_ms = int(time.time() * 1000)
        self._began_at = time.monotonic()
        self._lock = threading.Lock()
        self._hashes = {"stdout": hashlib.sha256(), "stderr": hashlib.sha256()}
        self._sizes = {"stdout": 0, "stderr": 0}
        # What goes to stderr with the report of the end.
        self._trace = b""

    @property
    def params(self) -> Any:
        run = self.document["run"]
        return run["params"] if "params" in run else self.document.get("params")

    @property
    def ran_sec(self) -> float:
        return time.monotonic() - self._began_at

    @property
    def is_overdue(self) -> bool:
        return self.timeout_sec > 0 and self.ran_sec > self.timeout_sec

    def stop(self) -> None:
        """Asks the handler to end."""
        self.cancelled.set()
        on_stop = self.on_stop
        if on_stop is not None:
            on_stop()

    def take_end(self) -> bool:
        """Whether the caller is the one who reports the end: the first who asks."""
        with self._end_lock:
            is_first, self._has_ended = not self._has_ended, True
        return is_first

    @property
    def current(self) -> dict[str, Any]:
        """Its line in a heartbeat."""
        return {"job_id": self.id, "attempt": self.attempt, "token": self._fence["token"]}

    def progress(self, percent: float, detail: str = "") -> None:
        """Reports how far it is."""
        self.announce()
        body = {**self._fence, "progress": percent, **({"detail": detail[:2000]} if detail else {})}
        self._hub.call("POST", f"/jobs/{self.id}/progress", body)

    def write(self, text: str, stream: str = "stdout") -> None:
        """Adds to the job's output."""
        self.announce()
        content = text.encode("utf8", "replace")
        with self._lock:
            for begin in range(0, len(content), output_bytes_max):
                self._append(content[begin : begin + output_bytes_max], stream)

    def leave_trace(self, text: str) -> None:
        """The last lines of stderr. They travel with the report of the end if nothing else was written."""
        if any(self._sizes.values()):
            self.write(text, "stderr")
        else:
            self._trace = text.encode("utf8", "replace")[:small_output_bytes_max]

    def drop_trace(self) -> bool:
        """Whether there was one to be left out of the report."""
        had_one, self._trace = bool(self._trace), b""
        return had_one

    def _append(self, piece: bytes, stream: str) -> None:
        headers = {
            "X-Worker-Id": self._fence["worker_id"],
            "X-Job-Attempt": str(self.attempt),
            "X-Lease-Token": self._fence["token"],
        }
        path = f"/jobs/{self.id}/output/{stream}?offset={self._sizes[stream]}"
        try:
            self._hub.call("POST", path, piece, headers=headers, retry_sec=60)
        except WritError as error:
            # The answer to the first try was lost, and the bytes are there.
            if error.code != "OUTPUT_OFFSET" or error.details.get("size") != self._sizes[stream] + len(piece):
                raise
        self._sizes[stream] += len(piece)
        self._hashes[stream].update(piece)

    def announce(self) -> None:
        """Reports to the hub that it runs; the start of a short job is reported with its end."""
        if self.is_announced:
            return
        self._hub.call("POST", f"/jobs/{self.id}/start", self._fence, retry_sec=10)
        self.is_announced = True

    def report(self, ending: dict[str, Any]) -> dict[str, Any]:
        """The body that reports the end, with the text of a receipt, which is signed when it is sent."""
        has_result = "result" in ending
        result = ending["result"] if has_result else ending.get("partial_result")
        isolation = {"level": "in-process", "applied": [], "missing": []}
        stderr = self._hashes["stderr"].hexdigest() if not self._trace else hashlib.sha256(self._trace).hexdigest()
        receipt = canonical({
            "job_id": self.id,
            "attempt": self.attempt,
            "worker_id": self._fence["worker_id"],
            "document_sha256": self._claim.document_sha256,
            "exit_code": None,
            "result_sha256": sha256_hex(canonical(result)) if has_result or result is not None else None,
            "stdout_sha256": self._hashes["stdout"].hexdigest(),
            "stderr_sha256": stderr,
            "output_files": [],
            "isolation": isolation,
            "usage": None,
            "started_at": self._started_at_ms,
            "ended_at": int(time.time() * 1000),
        })  # fmt: skip
        return {
            **self._fence,
            **ending,
            **({} if self.is_announced else {"started_at": self._started_at_ms}),
            "isolation": isolation,
            "output": dict(self._sizes),
            **({"small_output": {"stderr": base64.b64encode(self._trace).decode()}} if self._trace else {}),
            "receipt": receipt,
        }

    def refusal(self, reason: Optional[str] = None) -> dict[str, Any]:
        """The body that gives the attempt back."""
        return {**self._fence, "reason": (reason or "the worker is stopping")[:500]}
