"""Calls in frames: one upgraded connection to a hub, for all threads of a program. docs/api.md has the frames. Why: ADR 0126."""

from __future__ import annotations

import os
import random
import selectors
import socket
import ssl
import struct
import threading
import time
from typing import Any, Callable, Mapping, NamedTuple, Optional

from .hubs import Hub

protocol = "writ-frames"
request, answer, cancel, credit, ping, pong, stop, close = range(1, 9)
elsewhere_status = 421
body_bytes_max = 1024 * 1024
head_bytes_max = 16 * 1024
answer_bytes_max = 64 * 1024 * 1024
answer_credit = 8 * 1024 * 1024
connect_sec = 5.0
# A program that calls a few times and ends gains nothing from another connection.
calls_before = 4
# A hub or a proxy that does not upgrade is asked again after this, because it may have been replaced.
refused_sec = 600.0
lost_first_sec, lost_max_sec, lasts_sec = 1.0, 600.0, 60.0
would_block = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class WireLost(Exception):
    """The connection has ended before the answer; the request may have arrived."""


class Headers(dict[str, str]):
    """Of an answer, by name in lower case; looked up in any."""

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


class FramedResponse(NamedTuple):
    """What is used of an answer over HTTP."""

    status: int
    headers: Headers
    reason: str = ""

    def getheader(self, name: str) -> Optional[str]:
        return self.headers.get(name)


class _Call:
    def __init__(self, frame_bytes: int, frames_read: int) -> None:
        self.bytes, self.frames_read = frame_bytes, frames_read
        self.answer: Optional[tuple[FramedResponse, bytes]] = None
        # Held until the call has ended.
        self.over = threading.Lock()
        self.over.acquire()


class Wire:
    """Safe for many threads. A thread of its own reads; the threads that call write."""

    def __init__(self, sock: socket.socket, limits: tuple[int, int], early: bytes, on_gone: Callable[[], None]) -> None:
        self._sock, self._on_gone = sock, on_gone
        self._credit, self._requests_max = limits
        self._process = os.getpid()
        # Also for the socket: TLS must not be written to while it is read from.
        self._lock = threading.Lock()
        self._open: dict[int, _Call] = {}
        self._last_id = self._frames_read = self._unreturned = 0
        self._out = bytearray()
        self._in = bytearray(early)
        self._is_gone = self._is_stopping = False
        self._wake_in, self._wake_out = socket.socketpair()
        for each in (sock, self._wake_in, self._wake_out):
            each.setblocking(False)
        threading.Thread(target=self._run, daemon=True, name="writ frames").start()

    def call(self, head: bytes, body: bytes, timeout_sec: float) -> Optional[tuple[FramedResponse, bytes]]:
        """None if it does not fit now and has to go over HTTP. Raises WireLost, or TimeoutError."""
        size = 11 + len(head) + len(body)
        with self._lock:
            if self._is_gone or self._is_stopping or self._process != os.getpid():
                return None
            if len(body) > body_bytes_max or len(head) > head_bytes_max or size > self._credit:
                return None
            if len(self._open) >= self._requests_max or self._last_id >= 2**32 - 1:
                return None
            self._last_id += 1
            number, call = self._last_id, _Call(size, self._frames_read)
            self._open[number] = call
            self._credit -= size
            self._write(_frame(request, number, struct.pack(">H", len(head)) + head + body))
        if not call.over.acquire(timeout=timeout_sec):
            self._give_up(number, call)
            raise TimeoutError(f"no answer within {timeout_sec:.0f} s")
        if call.answer is None:
            raise WireLost()
        return call.answer

    @property
    def is_gone(self) -> bool:
        return self._is_gone

    def close(self) -> None:
        """What is open is lost."""
        with self._lock:
            self._leave()

    def _give_up(self, number: int, call: _Call) -> None:
        """It stays open until it is answered, because its credit comes back with the answer."""
        with self._lock:
            if number in self._open and not self._is_gone:
                self._write(_frame(cancel, number))
            # Nothing has come since: what waits beside it would wait in vain, too.
            if call.frames_read == self._frames_read:
                self._leave()

    def _write(self, frame: bytes) -> None:
        """With the lock. What the socket does not take at once is left to the thread."""
        if not self._out:
            try:
                frame = frame[self._sock.send(frame) :]
            except would_block:
                pass
            except OSError:
                self._leave()
                return
            if not frame:
                return
        self._out += frame
        self._wake()

    def _wake(self) -> None:
        try:
            self._wake_out.send(b"x")
        except OSError:  # it is awake already, or has ended
            pass

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            selector.register(self._wake_in, selectors.EVENT_READ)
            try:
                with self._lock:
                    self._take_frames()
                while not self._is_gone:
                    wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
                    selector.modify(self._sock, wanted)
                    selector.select()
                    with self._lock:
                        self._turn()
            except (OSError, LookupError, ValueError, struct.error):  # the connection, or what came over it, is broken
                pass
            finally:
                with self._lock:
                    self._leave()
        for each in (self._sock, self._wake_in, self._wake_out):
            each.close()
        self._on_gone()

    def _turn(self) -> None:
        """With the lock."""
        try:
            while self._wake_in.recv(4096):
                pass
        except would_block:
            pass
        if self._out and not self._is_gone:
            try:
                del self._out[: self._sock.send(self._out)]
            except would_block:
                pass
        while not self._is_gone:
            try:
                piece = self._sock.recv(65536)
            except would_block:
                break
            if not piece:
                self._leave()
                return
            self._in += piece
            self._take_frames()

    def _take_frames(self) -> None:
        at = 0
        while len(self._in) - at >= 9 and not self._is_gone:
            length, kind, number = struct.unpack_from(">IBI", self._in, at)
            if not 5 <= length <= answer_bytes_max:
                raise ValueError("a frame is too long or too short")
            if len(self._in) - at < 4 + length:
                break
            self._take(kind, number, bytes(self._in[at + 9 : at + 4 + length]))
            at += 4 + length
        del self._in[:at]

    def _take(self, kind: int, number: int, payload: bytes) -> None:
        self._frames_read += 1
        if kind == answer:
            self._take_answer(number, payload)
        elif kind == ping:
            self._write(_frame(pong, 0, payload))
        elif kind == stop:
            self._stop_after(struct.unpack(">I", payload)[0])
        elif kind != pong:
            # The hub has said why it closes the connection, or has sent what no hub sends.
            self._leave()

    def _take_answer(self, number: int, payload: bytes) -> None:
        call = self._open[number]
        status, head_bytes = struct.unpack_from(">HH", payload)
        head, body = payload[4 : 4 + head_bytes].decode("latin1"), payload[4 + head_bytes :]
        pairs = [line.split(": ", 1) for line in head.split("\n") if line]
        call.answer = (FramedResponse(status, Headers((name.lower(), value) for name, value in pairs)), body)
        del self._open[number]
        self._credit += call.bytes
        self._unreturned += len(payload) + 9
        if self._unreturned >= answer_credit // 2:
            self._write(_frame(credit, 0, struct.pack(">I", self._unreturned)))
            self._unreturned = 0
        call.over.release()
        if self._is_stopping and not self._open:
            self._leave()

    def _stop_after(self, last: int) -> None:
        self._is_stopping = True
        for number in [number for number in self._open if number > last]:
            self._open.pop(number).over.release()
        if not self._open:
            self._leave()

    def _leave(self) -> None:
        """With the lock. The thread closes the socket."""
        if self._is_gone:
            return
        self._is_gone = True
        for call in self._open.values():
            call.over.release()
        self._open.clear()
        self._wake()


class Wires:
    """The upgraded connections of a client: at most one to each hub. Opened in the background, once it is worth it."""

    def __init__(self, headers: Mapping[str, str], tls: Callable[[], ssl.SSLContext]) -> None:
        self._headers, self._tls = headers, tls
        self._lock = threading.Lock()
        self._open: dict[Hub, Wire] = {}
        self._calls: dict[Hub, int] = {}
        self._failures: dict[Hub, int] = {}
        self._next_try: dict[Hub, float] = {}
        self._opening: set[Hub] = set()

    def to(self, hub: Hub) -> Optional[Wire]:
        wire = self._open.get(hub)
        if wire is None:
            self._consider(hub)
        return wire

    def close(self) -> None:
        for wire in list(self._open.values()):
            wire.close()

    def _consider(self, hub: Hub) -> None:
        with self._lock:
            calls = self._calls[hub] = self._calls.get(hub, 0) + 1
            is_early = calls <= calls_before or time.monotonic() < self._next_try.get(hub, 0.0)
            if is_early or hub in self._opening:
                return
            self._opening.add(hub)
        threading.Thread(target=self._begin, args=(hub,), daemon=True, name="writ upgrade").start()

    def _begin(self, hub: Hub) -> None:
        began_at = time.monotonic()
        try:
            found = open_wire(hub, self._headers, self._tls)
            if found is None:
                self._next_try[hub] = time.monotonic() + refused_sec * random.uniform(0.5, 1.0)
                return
            wire = Wire(*found, on_gone=lambda: self._lost(hub, began_at))
            with self._lock:
                if not wire.is_gone:
                    self._open[hub] = wire
        except (OSError, ValueError):
            # The calls themselves go over HTTP, and say whether the hub can be reached.
            self._lost(hub, began_at)
        finally:
            with self._lock:
                self._opening.discard(hub)

    def _lost(self, hub: Hub, began_at: float) -> None:
        with self._lock:
            self._open.pop(hub, None)
            now = time.monotonic()
            failures = 0 if now - began_at >= lasts_sec else self._failures.get(hub, 0)
            self._failures[hub] = failures + 1
            pause = min(lost_max_sec, lost_first_sec * 2 ** min(failures, 10))
            self._next_try[hub] = now + pause * random.uniform(0.5, 1.0)


def open_wire(
    hub: Hub, headers: Mapping[str, str], tls: Callable[[], ssl.SSLContext]
) -> Optional[tuple[socket.socket, tuple[int, int], bytes]]:
    """None if the hub, or a proxy before it, answers but does not upgrade. Raises OSError if there is no answer yet."""
    port = hub.port or (443 if hub.is_tls else 80)
    sock: socket.socket = socket.create_connection((hub.host, port), timeout=connect_sec)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hub.is_tls:
            sock = tls().wrap_socket(sock, server_hostname=hub.host)
        limits = f"1; credit={answer_credit}; requests=1"
        host = f"[{hub.host}]" if ":" in hub.host else hub.host
        asked = {
            "Host": host if hub.port is None else f"{host}:{hub.port}",
            "Connection": "Upgrade",
            "Upgrade": protocol,
            "Writ-Frames": limits,
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in asked.items())
        sock.sendall(f"GET {hub.path}/api/v1/frames HTTP/1.1\r\n{lines}\r\n".encode("latin1"))
        read = b""
        while b"\r\n\r\n" not in read:
            piece = sock.recv(4096)
            if not piece or len(read) > head_bytes_max:
                raise ConnectionResetError("no answer to the upgrade")
            read += piece
        head, early = read.split(b"\r\n\r\n", 1)
        found = _limits_in(head.decode("latin1"))
    except BaseException:
        sock.close()
        raise
    if found is None:
        sock.close()
        return None
    return sock, found, early


def _limits_in(head: str) -> Optional[tuple[int, int]]:
    status, *lines = head.split("\r\n")
    code = status.split(" ")[1] if status.count(" ") >= 1 else ""
    if code in ("401", "429") or code.startswith("5"):
        raise ConnectionRefusedError(f"no upgrade at present: {code}")
    named = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if code != "101" or named.get("upgrade", "").lower() != protocol:
        return None
    parts = [part.strip().split("=") for part in named.get("writ-frames", "").split(";")]
    given = {part[0]: int(part[1]) for part in parts if len(part) == 2 and part[1].isdigit()}
    if parts[0] != ["1"] or not given.get("credit") or not given.get("requests"):
        return None
    return given["credit"], given["requests"]


def _frame(kind: int, number: int, payload: bytes = b"") -> bytes:
    return struct.pack(">IBI", 5 + len(payload), kind, number) + payload
