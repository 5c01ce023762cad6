"""The client for programs that use asyncio: the methods of `Writ`, to be awaited. No call holds up the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, AsyncIterator, Callable, Iterable, Mapping, Optional

from .client import Writ
from .errors import JobFailed, TimedOut, WritError
from .looks import first_look_sec

# Each has a connection of its own to the hub. More calls than this wait for a thread.
threads_max = 16


class AsyncWrit:
    """A hub, with the arguments of `Writ`. `async with AsyncWrit() as hub:` closes it in the end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._writ = Writ(*arguments, **options)
        self._is_closed = False
        self._threads = ThreadPoolExecutor(threads_max, thread_name_prefix="writ")

    async def __aenter__(self) -> AsyncWrit:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Starts no more calls: they raise CLIENT_CLOSED. Those that are under way end by themselves."""
        self._is_closed = True
        self._threads.shutdown(wait=False)

    async def submit(self, type: str, params: Any = None, **fields: Any) -> str:
        return await self._call(self._writ.submit, type, params, **fields)

    async def submit_many(self, jobs: Iterable[Mapping[str, Any]]) -> list[str]:
        return await self._call(self._writ.submit_many, jobs)

    async def get(self, job_id: str) -> dict[str, Any]:
        return await self._call(self._writ.get, job_id)

    async def list(self, **filters: Any) -> Any:
        return await self._call(self._writ.list, **filters)

    async def cancel(self, job_id: str) -> str:
        return await self._call(self._writ.cancel, job_id)

    async def wait(self, job_id: str, timeout_sec: Optional[float] = None) -> dict[str, Any]:
        """As `Writ.wait`, and holds no thread between two calls. Cancelling the task ends the wait; the job continues."""
        looks = self._writ._looks(job_id, timeout_sec)
        while True:
            job: Optional[dict[str, Any]] = await self._call(looks.look)
            if job is not None:
                return job
            await asyncio.sleep(looks.pause_sec())

    async def wait_all(self, job_ids: Iterable[str], timeout_sec: Optional[float] = None) -> Any:
        """The jobs when all have ended, in the order of the ids."""
        waits = [asyncio.ensure_future(self.wait(job_id, timeout_sec)) for job_id in job_ids]
        # Each wait looks at least once, and many of them wait for a thread.
        limit_sec = None if timeout_sec is None else timeout_sec + first_look_sec
        try:
            return list(await asyncio.wait_for(asyncio.gather(*waits), limit_sec))
        except asyncio.TimeoutError:
            ended = sum(wait.done() and not wait.cancelled() and wait.exception() is None for wait in waits)
            raise TimedOut(f"only {ended} of {len(waits)} jobs were seen to end within {timeout_sec} s") from None
        finally:
            for wait in waits:
                wait.cancel()

    async def result(self, job_id: str, timeout_sec: Optional[float] = None) -> Any:
        job = await self.wait(job_id, timeout_sec)
        if job["status"] != "completed":
            raise JobFailed(job)
        return job.get("result")

    async def stream(self, job_id: str, stream: str = "stdout") -> AsyncIterator[bytes]:
        pieces = self._writ.stream(job_id, stream)
        while True:
            piece = await self._call(next, pieces, None)
            if piece is None:
                return
            yield piece

    async def _call(self, act: Callable[..., Any], *arguments: Any, **fields: Any) -> Any:
        if self._is_closed:
            raise WritError("CLIENT_CLOSED", "this AsyncWrit was closed; open another one")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(act, *arguments, **fields))
