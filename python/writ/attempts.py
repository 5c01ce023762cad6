"""What becomes of a claim: it is checked, a function is called for it, and the end is reported."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Optional
from urllib.parse import quote

from .connection import Connection
from .errors import Final, JobError, RetryIn, WritError
from .failure import ending_of, text_of, trace_of
from .reports import Reports

if TYPE_CHECKING:
    from .job import Job
else:
    try:
        from .job import Job
    except ImportError:  # the client works without Ed25519; a worker does not start without it

        class Job:
            """Used where Python has no Ed25519."""


Handler = Callable[..., Any]
seen_max = 10_000
result_bytes_max = 2 * 1024 * 1024
# A report that the hub answers with one of these would be refused again.
refused_statuses = (400, 413)


class Attempts:
    """The jobs that a worker has claimed. Safe for many threads, each of which handles one claim."""

    def __init__(
        self,
        hub: Connection,
        *,
        worker_id: str,
        boot_id: str,
        trust: Any,
        keys: Any,
        key: Any,
        handlers: dict[str, Handler],
        over: threading.Event,
        hub_away_sec: float,
        take_new_keys: Callable[[], None],
        tell: Callable[[str, str, Any], None],
        log: Callable[[str], None],
    ) -> None:
        self._hub, self._worker_id, self._boot_id = hub, worker_id, boot_id
        self._trust, self._keys = trust, keys
        self._handlers, self._over = handlers, over
        self._reports = Reports(hub, worker_id=worker_id, sign=key.sign, retry_sec=hub_away_sec, until=over)
        self._take_new_keys, self._tell, self._log = take_new_keys, tell, log
        self._held: dict[tuple[str, int], Job] = {}
        self._seen: dict[tuple[str, int], float] = {}
        self._lock = threading.Lock()
        # What the hub accepts beyond version 0.1, as it said when this worker last registered.
        self.hub_accepts: frozenset[str] = frozenset()

    def held(self) -> list[Job]:
        with self._lock:
            return list(self._held.values())

    def verified(self, answer: dict[str, Any]) -> list[Any]:
        """The claims of a batch that may be run. Nothing in it is used before its signature was checked."""
        jobs = answer["jobs"]
        try:
            self._check_batch(answer)
        except self._trust.Refused as refused:
            for job in jobs:
                self._refuse(job, refused)
            return []
        claims = []
        for job in jobs:
            try:
                claims.append(self._trust.claim_in_batch(job, self._worker_id, self._boot_id))
            except self._trust.Refused as refused:
                self._refuse(job, refused)
        return claims

    def receive(self, claim: Any, slot: Any = None) -> None:
        job = Job(self._hub, self._worker_id, claim)
        job.slot = slot
        key = (job.id, job.attempt)
        if self._over.is_set():
            self._tell("POST", f"/jobs/{job.id}/release", job.refusal())
            return
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

    def _check_batch(self, answer: dict[str, Any]) -> None:
        try:
            self._trust.check_batch(answer, self._keys.trusted(), self._worker_id)
            return
        except self._trust.Refused as refused:
            if refused.detail != "KEY_NOT_TRUSTED":
                raise
        # The hub may have a new key that one which we trust has signed.
        self._take_new_keys()
        self._trust.check_batch(answer, self._keys.trusted(), self._worker_id)

    def _refuse(self, job: dict[str, Any], refused: Any) -> None:
        """The fence comes from a lease that was not believed: if it is wrong, the hub refuses the report, and nothing changes."""
        self._log(f"a claim was refused: {refused.reason}")
        try:
            lease = json.loads(job["lease"])
            fence = {"attempt": lease["attempt"], "token": lease["token"]}
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        body = {"worker_id": self._worker_id, **fence, "code": refused.detail, "reason": refused.reason}
        self._tell("POST", f"/jobs/{quote(job['id'], safe='')}/fail", body)

    def report_timeout(self, job: Job) -> None:
        """For a job whose handler does not stop. The caller has taken its end."""
        try:
            if not job.is_lost:
                self._report(job, "fail", self._timeout_of(job), None)
        finally:
            with self._lock:
                self._held.pop((job.id, job.attempt), None)

    def _run(self, job: Job) -> None:
        failure: Optional[BaseException] = None
        try:
            path, report = "result", self._result_of(job)
        except BaseException as error:  # also SystemExit: what a handler raises is the end of its job, not of its slot
            failure = error
        is_late = job.timed_out or job.is_overdue
        if not job.take_end():
            self._log(f"the handler of {job.type} has ended job {job.id} after its time was over; what it returned is dropped")
            return
        if is_late:
            path, report, failure = "fail", self._timeout_of(job), None
        elif failure is not None:
            self._leave_trace(job, failure)
            path, report = "fail", self._failure_of(job, failure)
        if not job.is_lost:
            self._report(job, path, report, failure)

    def _timeout_of(self, job: Job) -> dict[str, Any]:
        return job.report({"reason": f"ran longer than {job.timeout_sec} s", "code": "TIMEOUT"})

    def _leave_trace(self, job: Job, error: BaseException) -> None:
        """An error that a handler raises after a stop is its way to stop, and is not logged; nor is an ordinary answer."""
        if job.cancelled.is_set() or isinstance(error, (Final, RetryIn, _Refusal)):
            return
        trace = trace_of(error)
        last = trace.rstrip().rsplit("\n", 1)[-1]
        self._log(f"warning: the handler of {job.type} failed in job {job.id}, attempt {job.attempt}: {last}")
        try:
            job.leave_trace(trace)
        except WritError as problem:
            self._log(f"the trace of job {job.id} was not accepted: {problem}")

    def _result_of(self, job: Job) -> dict[str, Any]:
        handler = self._handlers.get(job.type)
        if handler is None or job.document["run"].get("kind") != "handler":
            raise _Refusal(f"this worker does not handle {job.type}", "JOB_NOT_ACCEPTED")
        result = handler(job.params, job)
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result, job))
        report = job.report({"result": result})
        if len(json.dumps(report)) > result_bytes_max:
            raise _Refusal(f"the result is larger than {result_bytes_max} bytes")
        return report

    def _failure_of(self, job: Job, error: BaseException) -> dict[str, Any]:
        try:
            ending = error.ending() if isinstance(error, _Refusal) else ending_of(error)
            for field in ("final", "retry_in_sec"):
                if field not in self.hub_accepts:
                    ending.pop(field, None)
            return job.report(ending)
        except Exception as problem:  # such as a partial result that is not JSON
            return self._plain_failure(job, f"{type(error).__name__}, which cannot be reported: {problem}")

    def _plain_failure(self, job: Job, reason: str) -> dict[str, Any]:
        return job.report({"reason": text_of(reason), "code": "EXECUTION_ERROR"})

    def _report(self, job: Job, path: str, report: dict[str, Any], failure: Optional[BaseException]) -> None:
        try:
            self._send(job, path, report)
        except WritError as error:
            if error.status in refused_statuses and failure is not None and job.drop_trace():
                # The tenant may be allowed less output than the trace has.
                self._report(job, path, self._failure_of(job, failure), failure)
                return
            self._log(f"the end of job {job.id} was not accepted: {error}")
            if error.status in refused_statuses:
                self._report_refusal(job, error)

    def _report_refusal(self, job: Job, refusal: WritError) -> None:
        """Otherwise the hub would wait for the end until the lease is over, and blame the worker."""
        try:
            self._send(job, "fail", self._plain_failure(job, f"the hub did not accept the end: {refusal.message}"))
        except WritError as error:
            self._log(f"the failure of job {job.id} was not accepted: {error}")

    def _send(self, job: Job, path: str, report: dict[str, Any]) -> None:
        self._reports.send(job.id, path, report)


async def _awaited(result: Awaitable[Any], job: Job) -> Any:
    """A coroutine, other than a function, can be ended from outside: it is cancelled when the job is to stop."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(result)
    job.on_stop = lambda: _cancel(loop, task)
    try:
        if job.cancelled.is_set():
            task.cancel()
        return await task
    finally:
        job.on_stop = None


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Future[Any]) -> None:
    try:
        loop.call_soon_threadsafe(task.cancel)
    except RuntimeError:  # the loop has ended, and the task with it
        pass


class _Refusal(JobError):
    """Raised here and not by a handler: the reason explains it, and the code may be one that handlers cannot give."""

    def ending(self) -> dict[str, Any]:
        return {"reason": self.reason, "code": self.code}
