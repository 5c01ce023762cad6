"""The commands that a hub sends between two heartbeats. Each means that the answer to a heartbeat has something new."""

from __future__ import annotations

import threading
from typing import Callable, Iterable, Iterator
from urllib.parse import quote

from .connection import Connection, pause_sec
from .errors import WritError

# The hub sends something every 15 seconds; if three of them are missing, the stream is dead.
silence_sec = 45.0
# The answer to a heartbeat has the rest of it. "work" and "keys" are for workers that do not wait in claims.
worth_a_beat = ("cancel", "lost", "drain")
line_bytes_max = 64 * 1024


def follow_commands(hub: Connection, worker_id: str, on_news: Callable[[], None], over: threading.Event) -> None:
    """
    Runs until the event is set. A stream that cannot be opened, or breaks, is tried again. Nothing is lost meanwhile:
    heartbeats bring the same, only later.
    """
    failures = 0
    while not over.is_set():
        try:
            _, pieces = hub.read(f"/workers/{quote(worker_id, safe='')}/commands", timeout_sec=silence_sec)
            for name in _event_names(pieces):
                failures = 0
                if over.is_set():
                    return
                if name in worth_a_beat:
                    on_news()
        except WritError:
            pass
        over.wait(pause_sec(failures))
        failures += 1


def _event_names(pieces: Iterable[bytes]) -> Iterator[str]:
    """Of a text/event-stream; an empty name for any other line, so that a caller notices that the hub still sends."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        rest = rest[-line_bytes_max:]
        for line in lines:
            yield line[len(b"event:") :].strip().decode("utf8", "replace") if line.startswith(b"event:") else ""
