"""Submit jobs to a Writ hub, and handle them. The client needs nothing but the standard library."""

from .async_client import AsyncWrit
from .attempts import Job
from .client import Writ
from .errors import Final, HubUnreachable, JobError, JobFailed, RetryIn, TimedOut, WritError
from .worker import Worker

__all__ = ["AsyncWrit", "Final", "HubUnreachable", "Job", "JobError", "JobFailed", "RetryIn", "TimedOut", "Worker", "Writ", "WritError"]
