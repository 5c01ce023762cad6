"""Where the hub is, and the credentials for it: what the program was given, and otherwise the home of a hub."""

from __future__ import annotations

import json
import os
import stat
from typing import Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import urlsplit

from .errors import HubUnreachable, WritError

file_bytes_max = 1024 * 1024


class Target(NamedTuple):
    """What a connection needs."""

    url: Union[str, Sequence[str]]
    token: str
    ca_file: Optional[str]


def find_hub(
    url: Union[str, Sequence[str], None],
    token: Optional[str],
    *,
    ca_file: Optional[str],
    home: Optional[str],
    environment: Mapping[str, str],
) -> Target:
    """Address and token that were given are never replaced by what a home holds, and its token goes only to its own hub."""
    place = _home(home, environment)
    own = _hub_file(place)
    # An empty list is a mistake: the token that was given with it must not go to another hub.
    if url is None or url == "":
        url = None if home else environment.get("WRIT_HUB_URL") or environment.get("HUB_URL") or None
    # Nor is an empty token replaced by another one, which may be somebody else's.
    if token is None:
        token = None if home else environment.get("WRIT_TOKEN")
    is_own = url is None or all(_is_own(text, own) for text in _listed(url))
    if url is None:
        url = own[0] if own else None
    if url is None and (home or environment.get("WRIT_HOME")):
        raise HubUnreachable(f"no hub is running in {place}")
    if url is None:
        raise WritError("CONFIG_INVALID", "no hub: pass url or home, or set WRIT_HUB_URL")
    if token is None and is_own and own:
        token = _admin_token(place)
    if not token:
        raise WritError("CONFIG_INVALID", "no token: pass token, or set WRIT_TOKEN")
    # The authority in a default home says nothing about a hub elsewhere.
    is_named = bool(home or environment.get("WRIT_HOME"))
    authority = _authority(place) if is_named or (is_own and own) else None
    return Target(url, token, ca_file or environment.get("WRIT_CA_FILE") or authority)


def _home(given: Optional[str], environment: Mapping[str, str]) -> str:
    """The argument, then WRIT_HOME, then the checkout that this file belongs to, then the user's home."""
    named = given or environment.get("WRIT_HOME")
    if named:
        return os.path.abspath(named)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    user_home = environment.get("HOME") or os.path.expanduser("~")
    return os.path.join(root if _is_checkout(root) else user_home, ".writ")


def _is_checkout(root: str) -> bool:
    try:
        with open(os.path.join(root, "package.json"), encoding="utf8") as file:
            fields = json.load(file)
        return fields.get("name") == "writ" and fields.get("private") is True
    except (OSError, ValueError, AttributeError):
        return False


def _hub_file(home: str) -> list[str]:
    """The addresses of the hub that runs in the home, the one for this machine first; none if it does not run."""
    path = os.path.join(home, "hub.json")
    text = _read(path)
    if text is None:
        return []
    try:
        fields = json.loads(text)
        found = [fields.get("local_url"), fields["url"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        found = [None]
    if not isinstance(found[-1], str):
        message = f"{path} does not contain the address of a hub; stop the hub, remove the file, and start it again"
        raise WritError("CONFIG_INVALID", message)
    return [url for url in found if isinstance(url, str)]


def _admin_token(home: str) -> Optional[str]:
    text = _read(os.path.join(home, "admin.token"), must_be_private=True)
    return None if text is None else text.strip()


def _authority(home: str) -> Optional[str]:
    """In a hub's own home, and in one that `writ certs issue` has filled."""
    places = [os.path.join(home, "certs", "ca.crt"), os.path.join(home, "ca.crt")]
    return next((path for path in places if os.path.isfile(path)), None)


def _read(path: str, must_be_private: bool = False) -> Optional[str]:
    try:
        with open(path, encoding="utf8") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise WritError("CONFIG_INVALID", f"{path} is not a regular file")
            if must_be_private and found.st_mode & 0o077:
                raise WritError("CONFIG_INVALID", f"other users can access {path}; run: chmod 600 {path}")
            return file.read(file_bytes_max)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise WritError("CONFIG_INVALID", f"{path} cannot be read: {error}") from None


def _listed(url: Union[str, Sequence[str]]) -> list[str]:
    return [text.strip() for text in (url.split(",") if isinstance(url, str) else url)]


def _is_own(url: str, own: Sequence[str]) -> bool:
    return _origin(url) in [_origin(one) for one in own]


def _origin(url: str) -> str:
    """All names of this machine's loopback are one."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return url
    host = "loopback" if parts.hostname in ("localhost", "::1", "127.0.0.1") else parts.hostname
    return f"{parts.scheme}://{host}:{port}"
