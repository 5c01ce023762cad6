"""What an exception of a handler says about its attempt."""

from __future__ import annotations

import os
import re
import traceback
from types import TracebackType
from typing import Any, Optional

from .errors import Final, JobError, RetryIn

reason_chars_max = 4000
trace_chars_max = 16_000
# What fits into a list, a label and a filter. Longer texts belong into the message.
own_code_form = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")
# The failure codes of Writ that are for handlers.
handler_codes = frozenset(
    """INVALID_JOB TIMEOUT JOB_POLL_TIMEOUT IDLE_TIMEOUT EXECUTION_ERROR WORKER_NOT_READY WORKER_EXIT_ERROR JOB_SUBMIT_FAILED
    HTTP_REQUEST_FAILED OUTPUT_LIMIT OOM_KILLED SIGNALED SPAWN_FAILED INPUT_UNAVAILABLE UPLOAD_FAILED MANIFEST_INVALID
    VALIDATION_FAILED BUDGET_EXCEEDED""".split()
)
# Those that only Writ itself gives: a function that uses the same word does not mean the same.
writ_codes = frozenset(
    """SECURITY_VIOLATION CANCELLED EXPIRED WORKER_DISCONNECTED INVALID_SIGNATURE PATH_TRAVERSAL_ATTEMPT REPLAY KEY_NOT_TRUSTED
    SOLVER_CHECKSUM_MISMATCH URL_FORBIDDEN JOB_NOT_ACCEPTED NO_SUCH_MODEL NO_SUCH_SECRET NO_SUCH_INPUT
    INPUT_CHECKSUM_MISMATCH SANDBOX_UNAVAILABLE NOT_STARTED SUPERSEDED""".split()
)
_package = os.path.dirname(os.path.abspath(__file__))


def ending_of(error: BaseException) -> dict[str, Any]:
    """The fields of POST /jobs/:id/fail. Raises what the exception raises when it is read."""
    if not isinstance(error, (Final, JobError, RetryIn)):
        reason = text_of(f"{type(error).__name__}: {error}")
        return {"reason": reason, "code": "EXECUTION_ERROR", **_detail(getattr(error, "code", None))}
    ending: dict[str, Any] = {"reason": text_of(error.reason) or "failed"}
    if isinstance(error, Final):
        ending.update({"code": "EXECUTION_ERROR", "final": True, **_detail(error.code)})
    elif isinstance(error, RetryIn):
        ending.update({"code": "EXECUTION_ERROR", "retry_in_sec": error.seconds, **_detail(error.code)})
    else:
        ending.update(_code(error.code))
    if error.partial_result is not None:
        ending["partial_result"] = error.partial_result
    return ending


def trace_of(error: BaseException) -> str:
    """The stack trace, from the first function that is not of this package."""
    try:
        found: Optional[TracebackType] = error.__traceback__
        while found is not None and os.path.dirname(os.path.abspath(found.tb_frame.f_code.co_filename)) == _package:
            found = found.tb_next
        lines = traceback.format_exception(type(error), error, found, limit=100)
        return text_of("".join(lines), trace_chars_max)
    except Exception:  # an exception that cannot be shown is still the failure of its job only
        return f"{type(error).__name__}\n"


def text_of(text: object, chars_max: int = reason_chars_max) -> str:
    """Text as the hub accepts it, without halves of surrogate pairs."""
    return str(text).encode("utf8", "replace").decode()[:chars_max]


def _code(code: object) -> dict[str, str]:
    """A code that Writ does not know is the handler's own, and is kept as the detail."""
    return {"code": str(code)} if code in handler_codes else {"code": "EXECUTION_ERROR", **_detail(code)}


def _detail(code: object) -> dict[str, str]:
    """The failure of another job, for which a handler has waited, must not look like a failure of its own."""
    is_own = isinstance(code, str) and own_code_form.fullmatch(code) is not None
    return {"detail": str(code)} if is_own and code not in handler_codes and code not in writ_codes else {}
