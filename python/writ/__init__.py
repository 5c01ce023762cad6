"""Submit jobs to a Writ hub, and handle them. The client needs nothing but the standard library."""

from .client import Writ
from .errors import HubUnreachable, JobError, JobFailed, TimedOut, WritError
from .worker import Job, Worker

__all__ = ["HubUnreachable", "Job", "JobError", "JobFailed", "TimedOut", "Worker", "Writ", "WritError"]
