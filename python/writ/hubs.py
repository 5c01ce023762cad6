"""The addresses of the hubs of one installation, and which of them to call."""

from __future__ import annotations

import ipaddress
import random
import threading
import time
from typing import NamedTuple, Optional, Sequence, Union
from urllib.parse import urlsplit

from .errors import WritError

addresses_max = 16
rest_first_sec, rest_max_sec = 1.0, 30.0


class Hub(NamedTuple):
    """One address."""

    url: str
    host: str
    port: Optional[int]
    is_tls: bool
    # Of a proxy that serves the hub below a path of its own.
    path: str


class Hubs:
    """Stays with the hub that answers. One that fails rests, and is called meanwhile only if all others fail too."""

    def __init__(self, given: Union[str, Sequence[str]], *, may_be_plain: bool) -> None:
        texts = [text.strip() for text in (given.split(",") if isinstance(given, str) else given)]
        if len(texts) > addresses_max:
            raise WritError("CONFIG_INVALID", f"url: {len(texts)} addresses; at most {addresses_max} are allowed")
        if not texts:
            raise WritError("CONFIG_INVALID", "url: at least one address is needed")
        if "" in texts:
            raise WritError("CONFIG_INVALID", "url: an address is empty; use one comma between two addresses")
        self.all = [_parse(text, may_be_plain) for text in texts]
        for hub in self.all:
            if [other.url for other in self.all].count(hub.url) > 1:
                raise WritError("CONFIG_INVALID", f"url: {hub.url} was given twice")
        # By chance: if all programs began with the first address, the other hubs would have nothing to do.
        self._current = random.choice(self.all)
        self._unproven: set[Hub] = set()
        self._failures: dict[Hub, int] = {}
        self._rests_until: dict[Hub, float] = {}
        self._lock = threading.Lock()

    @property
    def current(self) -> Hub:
        """The hub that answered last, or that is called first."""
        return self._current

    def order(self) -> list[Hub]:
        """Every hub once, those that rest last."""
        with self._lock:
            now, at = time.monotonic(), self.all.index(self._current)
            return sorted(self.all[at:] + self.all[:at], key=lambda hub: max(0.0, self._rests_until.get(hub, 0.0) - now))

    def follow(self, hub: Hub, moved_to: Sequence[str]) -> list[Hub]:
        """Where a hub that has moved is now; what may not be followed raises WritError. A token goes there, so an address
        has to prove itself with TLS, unless both are ports of this machine."""
        named = [_parse(text, may_be_plain=False) for text in moved_to]
        for one in named:
            if not (one.is_tls or _is_loopback(hub.host)):
                raise WritError("HUB_UNREACHABLE", f"{hub.url} has moved to {one.url}, which is followed only from the same machine")
        with self._lock:
            added = [one for one in dict.fromkeys(named) if one not in self.all]
            if len(self.all) + len(added) > addresses_max:
                raise WritError("HUB_UNREACHABLE", f"{hub.url} has moved; at most {addresses_max} addresses are kept")
            self.all.extend(added)
            self._unproven.update(added)
        return named

    def is_proven(self, hub: Hub) -> bool:
        """Whether it was given to this program, or has answered since another hub named it."""
        return hub not in self._unproven

    def answered(self, hub: Hub) -> None:
        """An answer that arrives after the other calls moved to another hub does not bring them back."""
        with self._lock:
            self._unproven.discard(hub)
            self._failures.pop(hub, None)
            self._rests_until.pop(hub, None)
            if self._failures.get(self._current, 0) > 0:
                self._current = hub

    def failed(self, hub: Hub) -> None:
        """Many calls may fail together; they are one failure."""
        with self._lock:
            now = time.monotonic()
            if self._rests_until.get(hub, 0.0) > now:
                return
            failures = self._failures.get(hub, 0)
            self._failures[hub] = failures + 1
            self._rests_until[hub] = now + min(rest_max_sec, rest_first_sec * 2 ** min(failures, 10)) * random.uniform(0.5, 1.0)


def _parse(text: str, may_be_plain: bool) -> Hub:
    parts = urlsplit(text)
    if parts.username or parts.password:
        raise WritError("CONFIG_INVALID", "url: a token does not belong into the address; pass token")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WritError("CONFIG_INVALID", f"url: {text!r} is not the address of a hub; use https://host:port")
    if parts.scheme == "http" and not (may_be_plain or _is_loopback(parts.hostname)):
        raise WritError(
            "CONFIG_INVALID",
            f"url: {text!r} would send the token in plain text; use https, or set WRIT_ALLOW_INSECURE=true",
        )
    path = parts.path.rstrip("/")
    if path.endswith(("/api", "/api/v1")):
        raise WritError("CONFIG_INVALID", f"url: {text!r} must not contain the path of the API")
    return Hub(f"{parts.scheme}://{parts.netloc}{path}", parts.hostname, parts.port, parts.scheme == "https", path)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
