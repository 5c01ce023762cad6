"""The one spelling of a JSON value that is signed and hashed. It is what Python itself writes. Why: ADR 0072."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

integer_max = 2**53 - 1
depth_max = 64


def canonical(value: Any) -> str:
    """Raises ValueError for what has no canonical form: NaN, huge integers, lone surrogates, keys that are not text."""
    _check(value, 0)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_canonical(text: str) -> Any:
    """Reads a text that must be canonical already; nothing is repaired."""
    value = json.loads(text)
    if canonical(value) != text:
        raise ValueError("the text is not in canonical form")
    return value


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check(value: Any, depth: int) -> None:
    if depth > depth_max:
        raise ValueError(f"it is nested more than {depth_max} deep")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if abs(value) > integer_max:
            raise ValueError(f"{value} is not within 2^53 - 1")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("NaN and infinities are not JSON")
    elif isinstance(value, str):
        _check_text(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the key {key!r} is not text")
            _check_text(key)
            _check(item, depth + 1)
    else:
        raise ValueError(f"{type(value).__name__} is not JSON")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text has half of a character in it") from None
