"""Everything that a caller may want to catch. Each error has the code that the hub's API documents."""

from __future__ import annotations

import math
from typing import Any, Optional

# The longest delay that an attempt may ask for.
retry_in_sec_max = 604_800


class WritError(Exception):
    """A refusal of the hub, or something that this program did wrong; `code` says which."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        details: Optional[dict[str, Any]] = None,
        retry_after_sec: Optional[float] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details = details or {}
        self.retry_after_sec = retry_after_sec

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.status in (408, 423, 429) or self.status >= 500


class HubUnreachable(WritError):
    """No hub answered."""

    def __init__(self, message: str) -> None:
        super().__init__("HUB_UNREACHABLE", message)

    @property
    def is_retryable(self) -> bool:
        return True


class TimedOut(WritError):
    """The caller's own time limit has passed; the job continues."""

    def __init__(self, message: str) -> None:
        super().__init__("TIMED_OUT", message)


class JobFailed(WritError):
    """
    A job that somebody waited for did not complete. `job` is the whole job, `fail_code` its failure code, and `fail_detail`
    what narrows it down, such as a code of the handler's own, or None.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self.fail_code: Optional[str] = job.get("fail_code")
        self.fail_detail: Optional[str] = job.get("fail_detail")
        history = job.get("fail_history") or [{"reason": job.get("fail_reason")}]
        self.reason = str(history[-1]["reason"])
        why = self.fail_detail or self.fail_code
        message = f"job {job['id']} {job['status']}: {'' if why is None else f'{why}: '}{self.reason}"
        details = {"job_id": job["id"], "job_status": job["status"], "fail_code": self.fail_code, "fail_reason": self.reason}
        super().__init__("JOB_FAILED", message, details=details)
        self.job = job


class Final(Exception):
    """
    Raised by a handler: the work has failed for good, and that is an ordinary answer. The job ends as EXECUTION_ERROR, is not
    tried again, and no alert is sent. `code` is one of your own, such as CARD_DECLINED.
    """

    def __init__(self, reason: str, code: Optional[str] = None, partial_result: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.partial_result = partial_result


class RetryIn(Exception):
    """
    Raised by a handler: the attempt has failed, and the next one, if the job has any left, starts after this many seconds. That
    is an ordinary answer. `code` is one of your own, such as RATE_LIMITED.
    """

    def __init__(self, seconds: float, reason: str, code: Optional[str] = None, partial_result: Any = None) -> None:
        super().__init__(reason)
        if not 0 <= seconds <= retry_in_sec_max:
            raise ValueError(f"seconds: must be a number from 0 to {retry_in_sec_max}; found {seconds}")
        self.seconds = math.ceil(seconds)
        self.reason = reason
        self.code = code
        self.partial_result = partial_result


class JobError(Exception):
    """Raised by a handler: the attempt fails with this code, and is tried again if the code allows it."""

    def __init__(self, reason: str, code: str = "EXECUTION_ERROR", partial_result: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.partial_result = partial_result
