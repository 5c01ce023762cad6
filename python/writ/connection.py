"""Calls of a hub, or of several of one installation: JSON over HTTP, kept connections for each thread, no redirects."""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import threading
import time
import weakref
from functools import partial
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, TypeVar, Union

from .errors import HubUnreachable, WritError
from .home import find_hub
from .hubs import Hub, Hubs
from .wire import FramedResponse, WireLost, Wires, elsewhere_status

# Less time than this is not worth another try.
last_pause_sec = 0.05
answer_bytes_max = 64 * 1024 * 1024
# A hub that stops or has lost its database, or a proxy that finds no hub; another address may lead to one.
away_statuses = (502, 503, 504)
# The token is not known, or was refused so often that no more of them are looked at for a while.
unknown_statuses = (401, 429)
# The errors of a connection that was closed at the other end; with TLS, SSLEOFError when something is sent there.
hung_up = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)
Answer = TypeVar("Answer")
Response = Union[http.client.HTTPResponse, FramedResponse]


class Reply(NamedTuple):
    """An answer of the hub; `json` is None if it has no body."""

    status: int
    json: Any
    headers: Mapping[str, str]


class Connection:
    """What client and worker need of HTTP. Safe for many threads."""

    def __init__(
        self,
        url: Union[str, Sequence[str], None] = None,
        token: Optional[str] = None,
        *,
        ca_file: Optional[str] = None,
        home: Optional[str] = None,
        timeout_sec: float = 30.0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        url, token, self._ca_file = find_hub(url, token, ca_file=ca_file, home=home, environment=environment)
        # http.client would show all of it in its own error.
        if not token.isascii() or not token.isprintable() or " " in token:
            raise WritError("CONFIG_INVALID", "token: it has a space, a line break or another character that no token has")
        self._hubs = Hubs(url, may_be_plain=environment.get("WRIT_ALLOW_INSECURE") == "true")
        self.timeout_sec = timeout_sec
        self._token = token
        self._tls: Optional[ssl.SSLContext] = None
        if any(hub.is_tls for hub in self._hubs.all):
            self._tls = self._tls_context()
        self._of_thread = threading.local()
        self._wires: Optional[Wires] = None
        if _flag(environment, "WRIT_FRAMES", True):
            # Its threads do not hold this object, so that it can be collected.
            self._wires = Wires(self._headers(), partial(ssl.create_default_context, cafile=self._ca_file))
            weakref.finalize(self, self._wires.close)

    @property
    def url(self) -> str:
        """The address in use."""
        return self._hubs.current.url

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        timeout_sec: Optional[float] = None,
        retry_sec: float = 0.0,
        until: Optional[threading.Event] = None,
        deadline: Optional[float] = None,
    ) -> Any:
        """The answer's JSON, or None if it has no body; as `call_for_reply` otherwise."""
        options: dict[str, Any] = {"headers": headers, "timeout_sec": timeout_sec, "until": until, "deadline": deadline}
        return self.call_for_reply(method, path, body, retry_sec=retry_sec, **options).json

    def call_for_reply(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        timeout_sec: Optional[float] = None,
        retry_sec: float = 0.0,
        until: Optional[threading.Event] = None,
        deadline: Optional[float] = None,
    ) -> Reply:
        """
        The answer's status, JSON and headers. Raises WritError. Repeats a call that may succeed later, for `retry_sec`
        seconds and only until the event is set. `deadline` is when the caller's time is over, by time.monotonic(): no pause
        and no wait for an answer lasts longer.
        """
        over_at = float("inf") if deadline is None else deadline
        give_up_at = min(time.monotonic() + retry_sec, over_at - last_pause_sec)
        for attempt in range(10_000):
            try:
                return self._call_once(method, path, body, headers or {}, timeout_sec or self.timeout_sec, deadline)
            except WritError as error:
                # Tries come closer together towards the end, so that a hub that comes back then is still noticed.
                pause = error.retry_after_sec or min(pause_sec(attempt), (over_at - time.monotonic()) / 2)
                if not error.is_retryable or time.monotonic() + pause > give_up_at:
                    raise
                if until is None:
                    time.sleep(pause)
                elif until.wait(pause):
                    raise
        raise HubUnreachable(f"{self.url} did not answer")

    def _call_once(
        self,
        method: str,
        path: str,
        body: Any,
        headers: Mapping[str, str],
        timeout_sec: float,
        deadline: Optional[float],
    ) -> Reply:
        is_raw = isinstance(body, bytes)
        content = body if is_raw or body is None else json.dumps(body, allow_nan=False).encode()
        kind = "application/octet-stream" if is_raw else "application/json"
        sent = {**self._headers(), **({} if content is None else {"Content-Type": kind}), **headers}
        response, text = self._at_some_hub(lambda hub: self._answer(hub, method, path, content, sent, _within(timeout_sec, deadline)))
        if not text:
            return Reply(response.status, None, response.headers)
        try:
            return Reply(response.status, json.loads(text), response.headers)
        except ValueError:
            raise WritError("HTTP_ERROR", f"{self.url} answered what is not JSON", status=502) from None

    def _at_some_hub(self, act: Callable[[Hub], Answer]) -> Answer:
        """Each hub is tried once. Every call of this package may arrive twice: by an id, a fence or an offset in it."""
        failures: list[WritError] = []
        waiting, tried = self._hubs.order(), set[Hub]()
        while waiting:
            hub = waiting.pop(0)
            if hub in tried:
                continue
            tried.add(hub)
            try:
                answer = act(hub)
            except WritError as error:
                # Somebody may have named the hub of another installation by mistake.
                if error.status in unknown_statuses and not self._hubs.is_proven(hub):
                    error = HubUnreachable(f"{hub.url} does not accept the token")
                if not isinstance(error, HubUnreachable) and error.status not in away_statuses:
                    self._hubs.answered(hub)
                    raise
                self._hubs.failed(hub)
                moved_to = _moved_to(error)
                try:
                    waiting[:0] = self._hubs.follow(hub, moved_to)
                except WritError as refusal:
                    error = HubUnreachable(refusal.message)
                else:
                    if moved_to:
                        error = HubUnreachable(f"{hub.url} has moved to {', '.join(moved_to)}")
                failures.append(error)
                continue
            self._hubs.answered(hub)
            return answer
        refusal = next((error for error in failures if not isinstance(error, HubUnreachable)), None)
        if refusal is not None or len(failures) == 1:
            raise refusal or failures[0]
        raise HubUnreachable(f"no hub can be reached ({'; '.join(error.message for error in failures)})")

    def _answer(
        self, hub: Hub, method: str, path: str, content: Optional[bytes], headers: Mapping[str, str], timeout_sec: float
    ) -> tuple[Response, bytes]:
        framed = self._framed(hub, method, path, content, headers, timeout_sec)
        response, text = framed or self._exchange(hub, method, path, content, headers, timeout_sec)
        if response.status >= 300:
            raise _error_of(response, text)
        return response, text

    def _framed(
        self, hub: Hub, method: str, path: str, content: Optional[bytes], headers: Mapping[str, str], timeout_sec: float
    ) -> Optional[tuple[FramedResponse, bytes]]:
        """None if the call has to go over HTTP; every call may arrive twice."""
        wire = None if self._wires is None else self._wires.to(hub)
        if wire is None:
            return None
        own = self._headers()
        lines = [
            f"\n{name.lower()}: {value}"
            for name, value in headers.items()
            if own.get(name) != value and (name, value) != ("Content-Type", "application/json")
        ]
        head = f"{method} /api/v1{path}{''.join(lines)}"
        try:
            if not head.replace("\n", "").isprintable():
                raise WritError("INVALID_ARGUMENT", f"{path}: has a character that a path or a header cannot have")
            answered = wire.call(head.encode("latin1"), content or b"", timeout_sec)
        except WireLost:
            return None
        except (TimeoutError, UnicodeEncodeError) as error:
            raise HubUnreachable(f"{hub.url} did not answer ({type(error).__name__}: {error})") from None
        return None if answered is None or answered[0].status == elsewhere_status else answered

    def _exchange(
        self, hub: Hub, method: str, path: str, content: Optional[bytes], headers: Mapping[str, str], timeout_sec: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        all_kept = self._all_kept()
        kept = all_kept.pop(hub, None)
        is_reused = kept is not None
        connection = kept or self._open(hub, timeout_sec)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout_sec)
            connection.request(method, f"{hub.path}/api/v1{path}", content, dict(headers))
            response = connection.getresponse()
            text = response.read(answer_bytes_max)
            _refuse_cut(response, text)
        except hung_up as error:
            connection.close()
            # The hub closes idle connections; it has not read the call then.
            if is_reused:
                return self._exchange(hub, method, path, content, headers, timeout_sec)
            raise HubUnreachable(f"{hub.url} hung up ({error})") from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise HubUnreachable(f"{hub.url} did not answer ({type(error).__name__}: {error})") from None
        if response.will_close:
            connection.close()
        else:
            all_kept[hub] = connection
        return response, text

    def _all_kept(self) -> dict[Hub, http.client.HTTPConnection]:
        """After a fork, both processes would write to the same connection and read each other's answers."""
        kept = self._of_thread.__dict__
        if kept.get("by") != os.getpid():
            kept.update(by=os.getpid(), connections={})
        connections: dict[Hub, http.client.HTTPConnection] = kept["connections"]
        return connections

    def read(self, path: str, timeout_sec: float) -> tuple[http.client.HTTPResponse, Iterator[bytes]]:
        """An answer that may be long, on a connection of its own; the pieces as they come."""
        return self._at_some_hub(lambda hub: self._read(hub, path, timeout_sec))

    def _read(self, hub: Hub, path: str, timeout_sec: float) -> tuple[http.client.HTTPResponse, Iterator[bytes]]:
        connection = self._open(hub, timeout_sec)
        try:
            connection.request("GET", f"{hub.path}/api/v1{path}", headers=self._headers())
            response = connection.getresponse()
            if response.status >= 300:
                raise _error_of(response, response.read(answer_bytes_max))
        except WritError:
            connection.close()
            raise
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise HubUnreachable(f"{hub.url} did not answer ({type(error).__name__}: {error})") from None
        return response, self._pieces(hub, connection, response)

    def _pieces(
        self, hub: Hub, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> Iterator[bytes]:
        try:
            while True:
                piece = response.read1(65536)
                if not piece:
                    _refuse_cut(response, piece)
                    return
                yield piece
        except (OSError, http.client.HTTPException) as error:
            self._hubs.failed(hub)
            raise HubUnreachable(f"{hub.url} hung up ({type(error).__name__}: {error})") from None
        finally:
            connection.close()

    def _open(self, hub: Hub, timeout_sec: float) -> http.client.HTTPConnection:
        if not hub.is_tls:
            return http.client.HTTPConnection(hub.host, hub.port, timeout=timeout_sec)
        # A hub that has moved may be the first with TLS.
        self._tls = self._tls or self._tls_context()
        return http.client.HTTPSConnection(hub.host, hub.port, timeout=timeout_sec, context=self._tls)

    def _tls_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._ca_file)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "User-Agent": "writ-python/0.1.0"}


def pause_sec(attempt: int) -> float:
    """Grows from a tenth of a second to five, with some chance, so that many do not come back at once."""
    return min(5.0, 0.1 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0)


def _within(timeout_sec: float, deadline: Optional[float]) -> float:
    """Never 0, which would mean a socket that waits for nothing."""
    return timeout_sec if deadline is None else max(0.001, min(timeout_sec, deadline - time.monotonic()))


def _refuse_cut(response: http.client.HTTPResponse, text: bytes) -> None:
    """An answer that breaks off looks like a short one, and one without its body like an empty one."""
    if response.length:
        raise http.client.IncompleteRead(text, response.length)


def _moved_to(error: WritError) -> list[str]:
    """The new addresses, if a hub says that it has moved."""
    named = (error.details or {}).get("moved_to") if error.code == "HUB_MOVED" and error.status == 503 else None
    return [text for text in named if isinstance(text, str)] if isinstance(named, list) else []


def _flag(environment: Mapping[str, str], name: str, fallback: bool) -> bool:
    value = environment.get(name) or str(fallback).lower()
    if value not in ("true", "false"):
        raise WritError("CONFIG_INVALID", f"{name}: {value!r} is not allowed; use true or false")
    return value == "true"


def _error_of(response: Response, text: bytes) -> WritError:
    retry_after = response.getheader("Retry-After")
    seconds = float(retry_after) if retry_after is not None and retry_after.isdigit() else None
    try:
        error = json.loads(text)["error"]
        code, message, details = error["code"], error["message"], error.get("details")
    except (ValueError, KeyError, TypeError):
        code, message, details = "HTTP_ERROR", f"the answer was {response.status} {response.reason}", None
    return WritError(code, message, status=response.status, details=details, retry_after_sec=seconds)
