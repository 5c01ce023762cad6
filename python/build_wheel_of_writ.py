"""Builds the wheel of this folder (PEP 517), with nothing but the standard library. Why: ADR 0072."""

from __future__ import annotations

import base64
import hashlib
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

here = Path(__file__).resolve().parent
# Zip files cannot say an earlier time; a fixed one makes two builds of the same files the same bytes.
stamp = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    name = f"writ-{_field('version')}"
    info = f"{name}.dist-info"
    files = {f"writ/{path.name}": path.read_bytes() for path in sorted((here / "writ").iterdir()) if path.is_file()}
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: writ\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    file_name = f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / file_name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content)
    return file_name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    name = f"writ-{_field('version')}"
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in ["pyproject.toml", Path(__file__).name, "README.md", "writ"]:
            archive.add(here / path, f"{name}/{path}", filter=_without_caches)
    return f"{name}.tar.gz"


def _without_caches(entry: tarfile.TarInfo) -> Any:
    return None if "__pycache__" in entry.name else entry


def _field(name: str) -> str:
    """Python reads TOML only since 3.11, and these fields are one line each."""
    found = re.search(rf'^{name} = "(.*)"$', (here / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml has no line {name} = \"…\"")
    return found.group(1)


def _metadata() -> str:
    return (
        "Metadata-Version: 2.1\n"
        "Name: writ\n"
        f"Version: {_field('version')}\n"
        f"Summary: {_field('description')}\n"
        f"Requires-Python: {_field('requires-python')}\n"
        "Provides-Extra: worker\n"
        'Requires-Dist: cryptography>=38; extra == "worker"\n'
    )


def _record(files: dict[str, bytes], own: str) -> str:
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,", ""])
