"""A worker: registers, claims jobs, renews their leases, and leaves. Why: ADR 0072."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import uuid
from typing import Any, Callable, Optional, Sequence, Union

from .attempts import Attempts, Handler, Job
from .claims import Claims, claim_wait_ms
from .commands import follow_commands
from .connection import Connection, pause_sec
from .errors import WritError
from .folder_lock import FolderLock
from .presence import HubPresence
from .stop import Stop

slots_max = 64
# How exactly a time limit is kept.
watch_sec = 0.1
# Threads that do not stop stay until the process ends; more than this would be a leak of memory.
given_up_max = 256
announce_after_sec = 0.5
# Heartbeats come each third of a lease, and not less often than this.
beat_sec_max = 10.0
# Somebody who starts a worker should not wonder for longer whether it does anything.
slow_sec = 3.0
# For the last calls of a worker that stops.
goodbye_sec = 5.0
# For another process of the same name to end, which may still be waiting for its jobs.
name_sec = 60.0
fatal_codes = (
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "WORKER_BLOCKED",
    "WORKER_KEY_CONFLICT",
    "WORKER_REPLACED",
    "INVALID_ARGUMENT",
)


class Slot:
    """A thread that runs one job at a time, until it is left alone with a handler that does not stop."""

    def __init__(self) -> None:
        self.is_left = False


class Worker:
    """Handles jobs of the types that `handle` names, several at once. `run` returns once the worker has stopped."""

    def __init__(
        self,
        url: Union[str, Sequence[str], None] = None,
        token: Optional[str] = None,
        *,
        worker_id: Optional[str] = None,
        signing_keys: Sequence[str] = (),
        signing_keys_file: Optional[str] = None,
        state_dir: Optional[str] = None,
        slots: int = 4,
        tags: Sequence[str] = (),
        ca_file: Optional[str] = None,
        home: Optional[str] = None,
        drain_sec: float = 30.0,
        stop_grace_sec: float = 5.0,
        hub_away_sec: float = 600.0,
        log: Callable[[str], None] = lambda line: print(f"writ: {line}", file=sys.stderr, flush=True),
    ) -> None:
        trust = _trust()
        if not 1 <= slots <= slots_max:
            raise WritError("CONFIG_INVALID", f"slots: {slots} is not allowed; use 1 to {slots_max}")
        self._hub = Connection(url, token, ca_file=ca_file, home=home)
        self.worker_id = worker_id or os.environ.get("NODE_ID") or socket.gethostname()
        folder = state_dir or os.path.join(os.path.expanduser("~"), ".writ-python", _file_name(self.worker_id))
        self._name = FolderLock(folder)
        self._key = trust.SigningKey(os.path.join(folder, "worker.key"))
        roots = [*signing_keys, *_keys_in(signing_keys_file or os.environ.get("WRIT_SIGNING_KEYS_FILE"))]
        self._keys = trust.KeyRing(roots, os.path.join(folder, "hub-keys.json"))
        self._slots, self._tags = slots, list(tags)
        self._drain_sec, self._log = drain_sec, log
        self._boot_id = uuid.uuid4().hex
        self._handlers: dict[str, Handler] = {}
        self._lock = threading.Lock()
        self._presence = HubPresence(log)
        self._stop = Stop()
        # `_drain`: the hub wants this worker to claim nothing. `_over`: it was stopped, and waits for no job any more.
        self._drain, self._over = threading.Event(), threading.Event()
        self._attempts = Attempts(
            self._hub,
            worker_id=self.worker_id,
            boot_id=self._boot_id,
            trust=trust,
            keys=self._keys,
            key=self._key,
            handlers=self._handlers,
            over=self._over,
            hub_away_sec=hub_away_sec,
            take_new_keys=self._again,
            tell=self._quietly,
            log=log,
        )
        self._claims = Claims(
            self._hub,
            worker_id=self.worker_id,
            boot_id=self._boot_id,
            verified=self._attempts.verified,
            is_stopped=self._stop.is_set,
            is_draining=self._drain.is_set,
            pause=self._stop.wait,
            on_answer=self._presence.back,
            on_refusal=self._on_refusal,
        )
        # The answer to the next heartbeat has something for this worker.
        self._news = threading.Event()
        self._stop_grace_sec = stop_grace_sec
        self._given_up = 0
        self._busy = 0
        self._is_registered = self._has_left = False
        self._fatal: Optional[Exception] = None
        self._running: Optional[threading.Thread] = None

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
        self._check_handlers()
        with self._stop.by_signals():
            if self._take_name():
                try:
                    self._live()
                finally:
                    self._name.release()
        if self._fatal is not None:
            raise self._fatal

    def __enter__(self) -> Worker:
        """`with worker:` works in a thread of its own until the end of the block, and logs it if the hub does not want it."""
        self._check_handlers()
        self._running = threading.Thread(target=self._run_and_tell, daemon=True)
        self._running.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._running is not None:
            self._running.join()

    def _run_and_tell(self) -> None:
        try:
            self.run()
        except WritError as error:
            self._log(f"worker {self.worker_id} has ended: {error}")

    def _check_handlers(self) -> None:
        if not self._handlers:
            raise WritError("CONFIG_INVALID", "this worker handles nothing; use @worker.handle(TYPE)")

    def _take_name(self) -> bool:
        """
        Whether this process is the one that works under the name. Two would replace each other at the hub, which knows one
        registration for each name. Another process may just be ending, so it is waited for.
        """
        if self._name.try_take():
            return True
        who = f"process {self._name.holder} works as {self.worker_id} on this machine"
        what = f"give this worker a worker_id of its own, or stop that process (folder {self._name.folder})"
        self._log(f"{who}; waiting up to {name_sec:.0f} s for it to end; {what}")
        is_taken = False

        def is_decided() -> bool:
            nonlocal is_taken
            is_taken = is_taken or self._name.try_take()
            return is_taken or self._stop.is_set()

        if not self._stop.wait_until(is_decided, name_sec):
            self._fatal = WritError("CONFIG_INVALID", f"{who}; {what}")
        return is_taken

    def _live(self) -> None:
        def is_answered() -> bool:
            return self._busy == 0 or self._stop.is_set()

        # In a thread, because a call that waits for its answer cannot be broken off, and a stop must not wait for it.
        self._begin(self._register_at_start)
        if not self._stop.wait_until(is_answered, slow_sec) and not self._presence.is_away:
            self._log("the hub has not answered yet; still trying")
        self._stop.wait_until(is_answered)
        beat = threading.Thread(target=self._beat, daemon=True)
        if self._is_registered:
            beat.start()
            threading.Thread(target=self._watch, daemon=True).start()
            threading.Thread(target=self._follow, daemon=True).start()
            self._begin(self._claims.run)
            for _ in range(self._slots):
                self._begin_slot()
            self._stop.wait_until(self._stop.is_set)
        self._finish(beat)

    def _begin(self, work: Callable[[], None]) -> None:
        """Starts a thread that a stop waits for."""

        def run() -> None:
            try:
                work()
            finally:
                with self._lock:
                    self._busy -= 1
                self._stop.look_again()

        with self._lock:
            self._busy += 1
        threading.Thread(target=run, daemon=True).start()

    def _begin_slot(self) -> None:
        slot = Slot()

        def run() -> None:
            try:
                self._work(slot)
            finally:
                self._leave_slot(slot)

        with self._lock:
            self._busy += 1
        threading.Thread(target=run, daemon=True).start()

    def _leave_slot(self, slot: Slot) -> None:
        with self._lock:
            if slot.is_left:
                return
            slot.is_left = True
            self._busy -= 1
        self._stop.look_again()

    def _register_at_start(self) -> None:
        """Tries until the hub has answered, however long that takes, or until a stop."""
        failures = 0
        while not self._stop.is_set():
            try:
                self._register()
                self._presence.back()
                self._is_registered = True
                return
            except Exception as error:
                if not isinstance(error, WritError) or not error.is_retryable:
                    self._fatal = error
                    return
                self._presence.away(error)
                self._stop.wait(error.retry_after_sec or pause_sec(failures))
                failures += 1

    def _finish(self, beat: threading.Thread) -> None:
        """Waits for what runs, gives back the rest, and leaves."""
        give_up_at = time.monotonic() + claim_wait_ms / 1000 + self._drain_sec
        # The hub answers a claim after `claim_wait_ms`. If it does not, it is away, and there is no job to wait for.
        answer_sec = claim_wait_ms / 1000 + min(goodbye_sec, self._drain_sec) if self._is_registered else 1.0
        self._stop.wait_until(lambda: self._busy == 0 or self._stop.is_hurried, answer_sec)
        self._stop.wait_until(lambda: not self._attempts.held() or self._stop.is_hurried, give_up_at - time.monotonic())
        self._over.set()
        self._begin(lambda: self._leave(beat))
        self._stop.wait_until(lambda: self._has_left, goodbye_sec)

    def _leave(self, beat: threading.Thread) -> None:
        """A hub that cannot be reached notices by itself that this worker is silent."""
        for job in self._attempts.held():
            self._lose(job)
            self._quietly("POST", f"/jobs/{job.id}/release", job.refusal())
        # A heartbeat after the last call would register this worker again.
        if beat.is_alive():
            beat.join()
        if self._is_registered:
            # The hub leaves the worker alone if another process has registered under the name meanwhile.
            self._quietly("DELETE", f"/workers/{self.worker_id}?boot_id={self._boot_id}", None)
        self._has_left = True

    def _register(self) -> None:
        try:
            self._keys.take(self._hub.call("GET", "/keys"))
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
        # All of these fields are of version 0.1. A hub of that version has no such header.
        accepts = self._hub.call_for_reply("POST", "/workers/register", body).headers.get("Writ-Accepts", "")
        self._attempts.hub_accepts = frozenset(name.strip() for name in accepts.split(","))

    def _work(self, slot: Slot) -> None:
        """One slot: runs what was claimed for it, one job after the other."""
        while not slot.is_left:
            claim = self._claims.take()
            if claim is not None:
                self._attempts.receive(claim, slot)
            elif self._claims.is_over:
                return

    def _on_refusal(self, error: WritError, failures: int) -> None:
        if error.code == "WORKER_UNKNOWN":
            self._again()
        elif error.code in fatal_codes:
            self._fatal = error
            self.stop()
        elif error.is_retryable:
            self._presence.away(error)
        elif failures == 1:
            self._log(f"no work can be claimed, trying again: {error}")

    def _again(self) -> None:
        if self._over.is_set():
            return
        try:
            self._register()
        except Exception as error:  # also a full disk, on which the hub's keys cannot be kept
            self._log(f"cannot register, trying again: {error}")

    def _beat(self) -> None:
        """Renews the leases of running jobs, and learns which of them must stop."""
        lease_sec, next_at, is_stop_told = 15.0, 0.0, False
        while not self._over.wait(0.25):
            for job in self._attempts.held():
                self._look_after(job)
            # A hub that is told of a stop answers the claim that waits, so that an idle worker does not wait for it.
            is_stopping = self._stop.is_set()
            if self._news.is_set() or is_stopping != is_stop_told or time.monotonic() >= next_at:
                is_stop_told = is_stopping
                self._news.clear()
                lease_sec = self._send_beat() or lease_sec
                next_at = time.monotonic() + min(beat_sec_max, lease_sec / 3)

    def _follow(self) -> None:
        """So that a cancel reaches a handler at once, and not with the next heartbeat."""
        follow_commands(self._hub, self.worker_id, self._news.set, self._over)

    def _watch(self) -> None:
        """Ends what has run too long. In a thread of its own, because a heartbeat may wait long for its answer."""
        while not self._over.wait(watch_sec):
            for job in self._attempts.held():
                if job.is_overdue and not job.timed_out:
                    job.timed_out = True
                    job.stop()
                if job.timed_out and job.ran_sec > job.timeout_sec + self._stop_grace_sec and job.take_end():
                    self._give_up(job)

    def _give_up(self, job: Job) -> None:
        """A thread cannot be killed. Its job ends, another thread takes its slot, and what it returns is dropped."""
        self._begin(lambda: self._attempts.report_timeout(job))
        self._given_up += 1
        self._log(f"warning: the handler of {job.type} did not stop when it was told to; job {job.id} has ended without it")
        self._leave_slot(job.slot)
        if self._given_up > given_up_max:
            self._log(f"{self._given_up} handlers did not stop; no thread takes the place of this one until the worker is started again")
        elif not self._stop.is_set():
            self._begin_slot()

    def _look_after(self, job: Job) -> None:
        if job.ran_sec < announce_after_sec or job.is_announced or job.is_lost:
            return
        try:
            job.announce()
        except WritError as error:
            if error.code == "LEASE_LOST":
                self._lose(job)

    def _send_beat(self) -> Optional[float]:
        jobs = self._attempts.held()
        body = {
            "worker_id": self.worker_id,
            "boot_id": self._boot_id,
            "status": "draining" if self._stop.is_set() else "active",
            "current_jobs": [job.current for job in jobs],
        }
        try:
            answer = self._hub.call("POST", "/workers/heartbeat", body)
            _check_answer(answer, lost=list, cancel=list, drain=bool, lease_ms=(int, float))
        except WritError as error:
            if error.code == "WORKER_UNKNOWN":
                self._again()
            elif error.is_retryable and jobs:
                # Slots that are busy do not claim, and would not notice it.
                self._presence.away(error)
            return None
        self._presence.back()
        for job in jobs:
            if job.id in answer["lost"]:
                self._lose(job)
            elif job.id in answer["cancel"]:
                job.stop()
        (self._drain.set if answer["drain"] else self._drain.clear)()
        return float(answer["lease_ms"]) / 1000

    def _lose(self, job: Job) -> None:
        job.is_lost = True
        job.stop()

    def _quietly(self, method: str, path: str, body: Any) -> None:
        try:
            self._hub.call(method, path, body, retry_sec=0.0 if self._presence.is_away else goodbye_sec)
        except WritError as error:
            # That the hub is away has been logged.
            if not self._presence.is_away:
                self._log(f"{method} {path}: {error}")


def _check_answer(answer: Any, **fields: Any) -> None:
    """A proxy may answer in the hub's place. Whatever it says must not end the thread that asked."""
    if isinstance(answer, dict) and all(isinstance(answer.get(name), kind) for name, kind in fields.items()):
        return
    raise WritError("HTTP_ERROR", "what was answered is not an answer of a hub", status=502)


def _trust() -> Any:
    try:
        from . import trust
    except ImportError:
        message = "a worker needs OpenSSL's libcrypto, or the package cryptography, to check signatures: pip install cryptography"
        raise WritError("CONFIG_INVALID", message) from None
    return trust


def _keys_in(path: Optional[str]) -> list[str]:
    if not path:
        return []
    try:
        with open(path, encoding="utf8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise WritError("CONFIG_INVALID", f"{path}: the hub's keys cannot be read: {error.strerror}") from None
    begin, end = "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"
    keys = [f"{part.strip()}\n{end}\n" for part in text.split(end) if part.strip()]
    if not all(key.startswith(begin) for key in keys):
        message = f"{path} is not a file of public keys in PEM; `writ keys export --out FILE` writes one"
        raise WritError("CONFIG_INVALID", message)
    return keys


def _file_name(worker_id: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in worker_id) or "worker"
