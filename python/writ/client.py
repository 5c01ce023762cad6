"""The client: submit, wait, stream, cancel."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode

from .connection import Connection, pause_sec
from .errors import JobFailed, TimedOut, WritError
from .looks import Looks, ended, first_look_sec

batch_jobs_max = 1000
# A batch may have 8 MiB; the rest is for commas and brackets.
batch_bytes_max = 7 * 1024 * 1024
active = ("assigned", "running")


class Writ:
    """
    A hub. `url` (one address or several) and `token` come from WRIT_HUB_URL and WRIT_TOKEN by default, and otherwise from the
    hub's home: `home`, WRIT_HOME, or the `.writ` of the checkout or of the user. Safe for many threads.
    """

    def __init__(
        self,
        url: Union[str, Sequence[str], None] = None,
        token: Optional[str] = None,
        *,
        ca_file: Optional[str] = None,
        home: Optional[str] = None,
        timeout_sec: float = 30.0,
        retry_sec: float = 30.0,
    ) -> None:
        self._hub = Connection(url, token, ca_file=ca_file, home=home, timeout_sec=timeout_sec)
        self._retry_sec = retry_sec

    def submit(self, type: str, params: Any = None, **fields: Any) -> str:
        """Submits a job and returns its id. `fields` are those of POST /jobs, such as run, priority or timeout_sec."""
        job = _submission({"type": type, "params": params, **fields})
        _json_size(job)
        return str(self._call("POST", "/jobs", job)["id"])

    def submit_many(self, jobs: Iterable[Mapping[str, Any]]) -> list[str]:
        """Submits many jobs, each with the fields of POST /jobs, in as few calls as possible; ids in the same order."""
        ids: list[str] = []
        batch: list[dict[str, Any]] = []
        size = 0
        for job in map(_submission, jobs):
            bytes_of_job = _json_size(job)
            if batch and (len(batch) == batch_jobs_max or size + bytes_of_job > batch_bytes_max):
                ids += self._submit_batch(batch)
                batch, size = [], 0
            batch.append(job)
            size += bytes_of_job
        return ids + (self._submit_batch(batch) if batch else [])

    def get(self, job_id: str) -> dict[str, Any]:
        """One job, as GET /jobs/:id answers it."""
        return self._read(job_id)

    def list(self, **filters: Any) -> list[dict[str, Any]]:
        """The newest jobs that fit, as GET /jobs answers them: status, type, limit and the like."""
        return list(self._call("GET", f"/jobs?{urlencode(filters)}"))

    def wait(self, job_id: str, timeout_sec: Optional[float] = None) -> dict[str, Any]:
        """The job when it has ended, however it did. Raises TimedOut when the caller's time is over. Looks at least once."""
        looks = self._looks(job_id, timeout_sec)
        while True:
            job = looks.look()
            if job is not None:
                return job
            time.sleep(looks.pause_sec())

    def result(self, job_id: str, timeout_sec: Optional[float] = None) -> Any:
        """Waits for the job and returns its result. Raises JobFailed if it did not complete."""
        job = self.wait(job_id, timeout_sec)
        if job["status"] != "completed":
            raise JobFailed(job)
        return job.get("result")

    def wait_all(self, job_ids: Iterable[str], timeout_sec: Optional[float] = None) -> list[dict[str, Any]]:
        """The jobs when all have ended, however they did, in the order of the ids. `timeout_sec` is for all together."""
        ids = list(job_ids)
        give_up_at = None if timeout_sec is None else time.monotonic() + timeout_sec
        found: dict[str, dict[str, Any]] = {}
        for job_id in ids:
            left_sec = None if give_up_at is None else max(0.0, give_up_at - time.monotonic())
            try:
                # Each wait looks at least once, which would add up.
                if give_up_at is not None and time.monotonic() > give_up_at + first_look_sec:
                    raise TimedOut("the time was over before all were looked at")
                if job_id not in found:
                    found[job_id] = self.wait(job_id, left_sec)
            except TimedOut as error:
                message = f"only {len(found)} of {len(set(ids))} jobs were seen to end within {timeout_sec} s"
                raise TimedOut(f"{message} ({error.message})") from error
        return [found[job_id] for job_id in ids]

    def cancel(self, job_id: str) -> str:
        """
        Ends a job. "over": it will not run, or not any more. "asked": its worker has been told to stop it. One that has ended
        already is an error with the code STATE_CONFLICT.
        """
        path = f"/jobs/{quote(job_id, safe='')}"
        status = self._hub.call_for_reply("DELETE", path, retry_sec=self._retry_sec).status
        return "asked" if status == 202 else "over"

    def stream(self, job_id: str, stream: str = "stdout") -> Iterator[bytes]:
        """What the job writes, as it comes, until its latest attempt has ended. A broken connection is taken up again."""
        offset, failures, was_over = 0, 0, False
        attempt: Optional[str] = None
        while True:
            query = {"offset": offset, "follow": "true", **({} if attempt is None else {"attempt": attempt})}
            path = f"/jobs/{quote(job_id, safe='')}/output/{quote(stream, safe='')}?{urlencode(query)}"
            try:
                response, pieces = self._hub.read(path, timeout_sec=60.0)
                attempt, failures = attempt or response.getheader("X-Job-Attempt"), 0
                for piece in pieces:
                    offset += len(piece)
                    yield piece
                # A hub that stops ends what it sends as if that were all, so the end proves nothing.
                job, number = self.get(job_id), int(attempt or 1)
                if job["attempt"] == number and job["status"] not in active and offset >= job["output"][stream]:
                    return
                # How much an earlier attempt has written is not known: once it is over, one more look has the rest.
                if was_over and job["attempt"] != number:
                    return
                was_over = job["attempt"] > number or job["status"] in ended
            except WritError as error:
                failures += 1
                if not error.is_retryable or failures > 10:
                    raise
            time.sleep(pause_sec(failures))

    def _read(self, job_id: str, *, deadline: Optional[float] = None) -> dict[str, Any]:
        return dict(self._call("GET", f"/jobs/{quote(job_id, safe='')}", deadline=deadline))

    def _looks(self, job_id: str, timeout_sec: Optional[float]) -> Looks:
        return Looks(self._read, job_id, timeout_sec)

    def _submit_batch(self, jobs: list[dict[str, Any]]) -> list[str]:
        return [str(job["id"]) for job in self._call("POST", "/jobs/batch", {"jobs": jobs})["jobs"]]

    def _call(self, method: str, path: str, body: Any = None, *, deadline: Optional[float] = None) -> Any:
        return self._hub.call(method, path, body, retry_sec=self._retry_sec, deadline=deadline)


def _submission(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job without a name is given an id here, so that a call whose answer was lost can be repeated without a second job."""
    if not isinstance(job, Mapping):
        raise WritError("INVALID_ARGUMENT", f"jobs: each must be a dict with the fields of POST /jobs; found {job!r:.40}")
    if not isinstance(job.get("type"), str):
        raise WritError("INVALID_ARGUMENT", "type: is required, and must be text")
    given = {name: value for name, value in job.items() if value is not None}
    is_named = "job_id" in given or "idempotency_key" in given
    return given if is_named else {"job_id": str(uuid.uuid4()), **given}


def _json_size(job: dict[str, Any]) -> int:
    """Raises the package's own error for what is not JSON, before a hub is called."""
    try:
        return len(json.dumps(job, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise WritError("INVALID_ARGUMENT", f"the job is not JSON: {error}") from None
