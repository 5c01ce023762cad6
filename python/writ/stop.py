"""The request to a worker to stop, by its program or by a signal, and what waits for it."""

from __future__ import annotations

import queue
import signal
import threading
import time
from contextlib import contextmanager
from typing import Callable, Iterator, Optional


# No wait is longer: a signal may be taken by any thread, and that does not wake the main one, which alone runs its handler.
look_sec = 0.25


class Stop:
    """
    Set once. The thread that runs the worker waits in `wait_until` and nowhere else; all others wait in `wait`.

    A signal handler runs in the middle of whatever the main thread does. If that were a wait for an Event, setting the same
    Event could wait for its lock for ever. A SimpleQueue may be put into at any moment, so a handler does nothing else.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._signals = 0

    def set(self) -> None:
        self._event.set()
        self._news.put("stop")

    def is_set(self) -> bool:
        return self._event.is_set()

    @property
    def is_hurried(self) -> bool:
        """A second signal takes away the time that jobs have to end."""
        return self._signals > 1

    def wait(self, pause_sec: float) -> bool:
        """A pause that a stop ends; whether it did."""
        return self._event.wait(pause_sec)

    def look_again(self) -> None:
        """Something has changed that `wait_until` may wait for."""
        self._news.put("change")

    def wait_until(self, is_met: Callable[[], bool], within_sec: Optional[float] = None) -> bool:
        """Whether it was met in time."""
        give_up_at = None if within_sec is None else time.monotonic() + within_sec
        while not is_met():
            left_sec = look_sec if give_up_at is None else give_up_at - time.monotonic()
            if left_sec <= 0:
                return False
            try:
                news = self._news.get(timeout=min(left_sec, look_sec))
            except queue.Empty:
                continue
            if news == "signal":
                self._signals += 1
                self._event.set()
        return True

    @contextmanager
    def by_signals(self) -> Iterator[None]:
        """Inside of it, SIGINT and SIGTERM stop. Only the main thread can ask for signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, lambda *_: self._news.put("signal")) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before):
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
