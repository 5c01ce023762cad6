"""Calls of one hub: JSON over HTTP, one connection for each thread, no redirects."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import random
import ssl
import threading
import time
from typing import Any, Iterator, Mapping, Optional
from urllib.parse import urlsplit

from .errors import HubUnreachable, WritError

answer_bytes_max = 64 * 1024 * 1024


class Connection:
    """What client and worker need of HTTP. Safe for many threads."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        ca_file: Optional[str] = None,
        timeout_sec: float = 30.0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        url = url or environment.get("WRIT_HUB_URL") or environment.get("HUB_URL")
        token = token or environment.get("WRIT_TOKEN")
        if not url:
            raise WritError("CONFIG_INVALID", "no hub: pass url, or set WRIT_HUB_URL")
        if not token:
            raise WritError("CONFIG_INVALID", "no token: pass token, or set WRIT_TOKEN")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WritError("CONFIG_INVALID", f"url: {url!r} is not the address of a hub; use https://host:port")
        if parts.username or parts.password:
            raise WritError("CONFIG_INVALID", "url: a token does not belong into the address; pass token")
        may_be_plain = _is_loopback(parts.hostname) or environment.get("WRIT_ALLOW_INSECURE") == "true"
        if parts.scheme == "http" and not may_be_plain:
            raise WritError(
                "CONFIG_INVALID",
                f"url: {url!r} would send the token in plain text; use https, or set WRIT_ALLOW_INSECURE=true",
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.timeout_sec = timeout_sec
        self._host = parts.hostname
        self._port = parts.port
        self._token = token
        self._tls: Optional[ssl.SSLContext] = None
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=ca_file or environment.get("WRIT_CA_FILE"))
        self._of_thread = threading.local()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        timeout_sec: Optional[float] = None,
        retry_sec: float = 0.0,
    ) -> Any:
        """The answer's JSON, or None if it has no body. Raises WritError; repeats a call that may succeed later."""
        give_up_at = time.monotonic() + retry_sec
        for attempt in range(10_000):
            try:
                return self._call_once(method, path, body, headers or {}, timeout_sec or self.timeout_sec)
            except WritError as error:
                pause = error.retry_after_sec or pause_sec(attempt)
                if not error.is_retryable or time.monotonic() + pause > give_up_at:
                    raise
                time.sleep(pause)
        raise HubUnreachable(f"{self.url} did not answer")

    def _call_once(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], timeout_sec: float
    ) -> Any:
        is_raw = isinstance(body, bytes)
        content = body if is_raw or body is None else json.dumps(body, allow_nan=False).encode()
        kind = "application/octet-stream" if is_raw else "application/json"
        sent = {**self._headers(), **({} if content is None else {"Content-Type": kind}), **headers}
        response, text = self._exchange(method, path, content, sent, timeout_sec)
        if response.status >= 300:
            raise _error_of(response, text)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError:
            raise WritError("HTTP_ERROR", f"{self.url} answered what is not JSON", status=502) from None

    def _exchange(
        self, method: str, path: str, content: Optional[bytes], headers: Mapping[str, str], timeout_sec: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        kept = getattr(self._of_thread, "kept", None)
        is_reused = kept is not None
        connection = kept or self._open(timeout_sec)
        self._of_thread.kept = None
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout_sec)
            connection.request(method, f"/api/v1{path}", content, dict(headers))
            response = connection.getresponse()
            text = response.read(answer_bytes_max)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            connection.close()
            # The hub closes connections that nobody uses; it has not read the call then.
            if is_reused:
                return self._exchange(method, path, content, headers, timeout_sec)
            raise HubUnreachable(f"{self.url} hung up ({error})") from None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise HubUnreachable(f"{self.url} did not answer ({type(error).__name__}: {error})") from None
        if response.will_close:
            connection.close()
        else:
            self._of_thread.kept = connection
        return response, text

    def read(self, path: str, timeout_sec: float) -> tuple[http.client.HTTPResponse, Iterator[bytes]]:
        """An answer that may be long, on a connection of its own; the pieces as they come."""
        connection = self._open(timeout_sec)
        try:
            connection.request("GET", f"/api/v1{path}", headers=self._headers())
            response = connection.getresponse()
            if response.status >= 300:
                raise _error_of(response, response.read(answer_bytes_max))
        except WritError:
            connection.close()
            raise
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise HubUnreachable(f"{self.url} did not answer ({type(error).__name__}: {error})") from None
        return response, self._pieces(connection, response)

    def _pieces(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> Iterator[bytes]:
        try:
            while True:
                piece = response.read1(65536)
                if not piece:
                    return
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise HubUnreachable(f"{self.url} hung up ({type(error).__name__}: {error})") from None
        finally:
            connection.close()

    def _open(self, timeout_sec: float) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_sec)
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_sec, context=self._tls)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "User-Agent": "writ-python/0.1.0"}


def pause_sec(attempt: int) -> float:
    """Grows from a tenth of a second to five, with some chance, so that many do not come back at once."""
    return min(5.0, 0.1 * 2 ** min(attempt, 10)) * random.uniform(0.5, 1.0)


def _error_of(response: http.client.HTTPResponse, text: bytes) -> WritError:
    retry_after = response.getheader("Retry-After")
    seconds = float(retry_after) if retry_after is not None and retry_after.isdigit() else None
    try:
        error = json.loads(text)["error"]
        code, message, details = error["code"], error["message"], error.get("details")
    except (ValueError, KeyError, TypeError):
        code, message, details = "HTTP_ERROR", f"the answer was {response.status} {response.reason}", None
    return WritError(code, message, status=response.status, details=details, retry_after_sec=seconds)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
