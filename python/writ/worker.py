"""A worker: claims jobs, checks them, runs a function of yours for each, and reports what came out."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from .connection import Connection, pause_sec
from .errors import JobError, WritError

if TYPE_CHECKING:
    from .job import Job
else:
    try:
        from .job import Job
    except ImportError:  # the client works without the package cryptography; a worker does not start without it

        class Job:
            """Stands in where the package cryptography is missing."""


Handler = Callable[..., Any]
slots_max = 64
claim_wait_ms = 5_000
seen_max = 10_000
announce_after_sec = 0.5
result_bytes_max = 2 * 1024 * 1024
fatal_codes = ("UNAUTHENTICATED", "PERMISSION_DENIED", "WORKER_BLOCKED", "WORKER_KEY_CONFLICT", "INVALID_ARGUMENT")


class Worker:
    """Handles jobs of the types that `handle` names, several at once. `run` returns when it is told to stop."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        worker_id: Optional[str] = None,
        signing_keys: Sequence[str] = (),
        signing_keys_file: Optional[str] = None,
        state_dir: Optional[str] = None,
        slots: int = 4,
        tags: Sequence[str] = (),
        ca_file: Optional[str] = None,
        drain_sec: float = 30.0,
        hub_away_sec: float = 600.0,
        log: Callable[[str], None] = lambda line: print(f"writ: {line}", file=sys.stderr, flush=True),
    ) -> None:
        trust = _trust()
        if not 1 <= slots <= slots_max:
            raise WritError("CONFIG_INVALID", f"slots: {slots} is not allowed; use 1 to {slots_max}")
        self._hub = Connection(url, token, ca_file=ca_file)
        self.worker_id = worker_id or os.environ.get("NODE_ID") or socket.gethostname()
        folder = state_dir or os.path.join(os.path.expanduser("~"), ".writ-python", _file_name(self.worker_id))
        self._trust = trust
        self._key = trust.SigningKey(os.path.join(folder, "worker.key"))
        roots = [*signing_keys, *_keys_in(signing_keys_file or os.environ.get("WRIT_SIGNING_KEYS_FILE"))]
        self._keys = trust.KeyRing(roots, os.path.join(folder, "hub-keys.json"))
        self._slots, self._tags = slots, list(tags)
        self._drain_sec, self._hub_away_sec, self._log = drain_sec, hub_away_sec, log
        self._boot_id = uuid.uuid4().hex
        self._handlers: dict[str, Handler] = {}
        self._held: dict[tuple[str, int], Job] = {}
        self._seen: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()
        self._stop, self._drain = threading.Event(), threading.Event()
        self._fatal: Optional[WritError] = None

    def handle(self, type: str) -> Callable[[Handler], Handler]:
        """`@worker.handle("greet")`: the function is called with the params and the job; what it returns is the result."""

        def register(handler: Handler) -> Handler:
            self._handlers[type] = handler
            return handler

        return register

    def stop(self) -> None:
        """Claims nothing more; `run` returns when what runs has ended, or its time is over. May be called anywhere."""
        self._stop.set()

    def run(self) -> None:
        """Works until `stop`, SIGINT or SIGTERM. Raises WritError if the hub does not want this worker."""
        if not self._handlers:
            raise WritError("CONFIG_INVALID", "this worker handles nothing; use @worker.handle(TYPE)")
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: self.stop())
        self._register(retry_sec=self._hub_away_sec)
        slots = [threading.Thread(target=self._work, daemon=True) for _ in range(self._slots)]
        beat = threading.Thread(target=self._beat, args=(slots,), daemon=True)
        for thread in [*slots, beat]:
            thread.start()
        while not self._stop.wait(0.5):
            pass
        self._finish(slots)
        beat.join(timeout=10)
        if self._fatal is not None:
            raise self._fatal

    def _finish(self, slots: list[threading.Thread]) -> None:
        give_up_at = time.monotonic() + self._drain_sec + claim_wait_ms / 1000
        for thread in slots:
            thread.join(timeout=max(0.0, give_up_at - time.monotonic()))
        for job in self._jobs():
            job.is_lost = True
            job.cancelled.set()
            self._quietly("POST", f"/jobs/{job.id}/release", job.refusal())
        self._drain.set()
        self._quietly("DELETE", f"/workers/{self.worker_id}", None)

    def _register(self, retry_sec: float) -> None:
        try:
            self._keys.take(self._hub.call("GET", "/keys", retry_sec=retry_sec))
        except WritError as error:
            if error.code != "KEY_NOT_TRUSTED":
                raise
            self._log(f"{error.message}; it is given no jobs until the keys are put right")
        types = sorted(self._handlers)
        body = {
            "worker_id": self.worker_id,
            "cores": os.cpu_count() or 1,
            "ram_gb": 1,
            "tags": self._tags,
            "types": types,
            "handler_types": types,
            "kinds": ["handler"],
            "document_format": 2,
            "boot_id": self._boot_id,
            "slots": self._slots,
            "key_ids": [key.key_id for key in self._keys.trusted()][:16],
            "public_key": self._key.public_pem,
            "version": "python-0.1.0",
        }
        self._hub.call("POST", "/workers/register", body, retry_sec=retry_sec)

    def _work(self) -> None:
        """One slot: claims a job, runs it, and claims the next."""
        failures = 0
        while not self._stop.is_set():
            if self._drain.is_set():
                self._stop.wait(1.0)
                continue
            try:
                answer = self._claim()
                failures = 0
            except WritError as error:
                failures += 1
                self._on_refusal(error, failures)
                self._stop.wait(error.retry_after_sec or pause_sec(failures))
                continue
            if answer is not None:
                self._receive(answer)

    def _claim(self) -> Any:
        body = {"worker_id": self.worker_id, "boot_id": self._boot_id, "wait_ms": claim_wait_ms}
        return self._hub.call("POST", "/jobs/claim", body, timeout_sec=claim_wait_ms / 1000 + 30)

    def _on_refusal(self, error: WritError, failures: int) -> None:
        if error.code == "WORKER_UNKNOWN":
            self._again()
        elif error.code in fatal_codes:
            self._fatal = error
            self.stop()
        elif failures == 1:
            self._log(f"no work can be claimed, trying again: {error}")

    def _again(self) -> None:
        try:
            self._register(retry_sec=0)
        except WritError as error:
            self._log(f"cannot register, trying again: {error}")

    def _receive(self, answer: dict[str, Any]) -> None:
        """Nothing in a claim is used before its signatures were checked."""
        try:
            claim = self._verified(answer)
        except self._trust.Refused as refused:
            self._log(f"a claim was refused: {refused.reason}")
            self._refuse(answer, refused)
            return
        job = Job(self._hub, self.worker_id, claim)
        key = (job.id, job.attempt)
        with self._lock:
            if key in self._seen:
                self._log(f"a second delivery of job {job.id} was ignored")
                return
            self._remember(key, claim.lease["expires_at_ts"])
            self._held[key] = job
        try:
            self._run(job)
        finally:
            with self._lock:
                self._held.pop(key, None)

    def _remember(self, key: tuple[str, int], expires_at: float) -> None:
        """A lease that has expired is refused anyway, so its attempt can be forgotten."""
        if len(self._seen) >= seen_max:
            now = time.time() - 60
            self._seen = {known: until for known, until in self._seen.items() if until > now}
        self._seen[key] = expires_at

    def _verified(self, answer: dict[str, Any]) -> Any:
        try:
            return self._trust.verify_claim(answer, self._keys.trusted(), self.worker_id, self._boot_id)
        except self._trust.Refused as refused:
            if refused.detail != "KEY_NOT_TRUSTED":
                raise
        # The hub may have a new key that one which we trust has signed.
        self._again()
        return self._trust.verify_claim(answer, self._keys.trusted(), self.worker_id, self._boot_id)

    def _refuse(self, answer: dict[str, Any], refused: Any) -> None:
        body = {"worker_id": self.worker_id, "attempt": answer.get("attempt"), "token": answer.get("token")}
        self._quietly("POST", f"/jobs/{answer.get('id')}/fail", {**body, "code": refused.detail, "reason": refused.reason})

    def _run(self, job: Job) -> None:
        handler = self._handlers.get(job.type)
        try:
            if handler is None or job.document["run"].get("kind") != "handler":
                raise JobError(f"this worker does not handle {job.type}", "JOB_NOT_ACCEPTED")
            ending = {"result": handler(job.params, job)}
            report = job.report(ending, self._key.sign)
            if len(json.dumps(report)) > result_bytes_max:
                raise JobError(f"the result is larger than {result_bytes_max} bytes")
            path = "result"
        except JobError as error:
            ending = {"reason": error.reason[:4000] or "failed", "code": error.code}
            if error.partial_result is not None:
                ending["partial_result"] = error.partial_result
            report, path = job.report(ending, self._key.sign), "fail"
        except Exception as error:  # whatever a handler raises is the end of its job, not of the worker
            reason = f"{type(error).__name__}: {error}"[:4000]
            report, path = job.report({"reason": reason, "code": "EXECUTION_ERROR"}, self._key.sign), "fail"
        if not job.is_lost:
            self._report(job, path, report)

    def _report(self, job: Job, path: str, report: dict[str, Any]) -> None:
        try:
            self._hub.call("POST", f"/jobs/{job.id}/{path}", report, retry_sec=self._hub_away_sec)
        except WritError as error:
            self._log(f"the end of job {job.id} was not accepted: {error}")

    def _beat(self, slots: list[threading.Thread]) -> None:
        """Renews the leases of what runs, and hears what is to stop."""
        lease_sec, next_at = 15.0, 0.0
        while any(thread.is_alive() for thread in slots) and not (self._stop.is_set() and self._drain.is_set()):
            for job in self._jobs():
                self._look_after(job)
            if time.monotonic() >= next_at:
                lease_sec = self._send_beat() or lease_sec
                next_at = time.monotonic() + min(10.0, lease_sec / 3)
            time.sleep(0.25)

    def _look_after(self, job: Job) -> None:
        if job.timeout_sec and job.ran_sec > job.timeout_sec:
            job.cancelled.set()
        if job.ran_sec < announce_after_sec or job.is_announced or job.is_lost:
            return
        try:
            job.announce()
        except WritError as error:
            if error.code == "LEASE_LOST":
                self._lose(job)

    def _send_beat(self) -> Optional[float]:
        jobs = self._jobs()
        body = {
            "worker_id": self.worker_id,
            "status": "draining" if self._stop.is_set() else "active",
            "current_jobs": [job.current for job in jobs],
        }
        try:
            answer = self._hub.call("POST", "/workers/heartbeat", body)
        except WritError as error:
            if error.code == "WORKER_UNKNOWN":
                self._again()
            return None
        for job in jobs:
            if job.id in answer["lost"]:
                self._lose(job)
            elif job.id in answer["cancel"]:
                job.cancelled.set()
        (self._drain.set if answer["drain"] else self._drain.clear)()
        return float(answer["lease_ms"]) / 1000

    def _lose(self, job: Job) -> None:
        job.is_lost = True
        job.cancelled.set()

    def _jobs(self) -> list[Job]:
        with self._lock:
            return list(self._held.values())

    def _quietly(self, method: str, path: str, body: Any) -> None:
        try:
            self._hub.call(method, path, body, retry_sec=5)
        except WritError as error:
            self._log(f"{method} {path}: {error}")


def _trust() -> Any:
    try:
        from . import trust
    except ImportError:
        message = "a worker needs the package cryptography to check signatures; install it: pip install cryptography"
        raise WritError("CONFIG_INVALID", message) from None
    return trust


def _keys_in(path: Optional[str]) -> list[str]:
    if not path:
        return []
    with open(path, encoding="utf8") as file:
        text = file.read()
    end = "-----END PUBLIC KEY-----"
    return [f"{part.strip()}\n{end}\n" for part in text.split(end) if part.strip()]


def _file_name(worker_id: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in worker_id) or "worker"
