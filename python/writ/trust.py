"""What a worker trusts: the hub's keys, and the claims that they have signed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Optional

from . import ed25519
from .canonical import canonical, parse_canonical, sha256_hex
from .errors import WritError

skew_sec = 30
signatures_max = 4
field_prime = 2**255 - 19
_order_8_y = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
small_order_ys = {0, 1, field_prime - 1, _order_8_y, field_prime - _order_8_y}

# The bytes of DER before the 32 bytes of an Ed25519 key: its kind (RFC 8410).
public_prefix = bytes.fromhex("302a300506032b6570032100")
private_prefix = bytes.fromhex("302e020100300506032b657004220420")

lease_fields = {
    "job_id", "attempt", "worker_id", "document_sha256", "timeout_sec", "issued_at_ts", "expires_at_ts", "token",
}  # fmt: skip
lease_fields_may = {"boot_id", "limits_defaulted"}
# A signed field that is not known here may be a restriction, so it is refused.
document_fields = {
    "job_id", "tenant_id", "user_id", "type", "execution_location", "run", "limits", "requires", "created_at_ts",
    "status", "timeout_sec", "idempotency_key", "priority", "max_attempts", "queue_ttl_sec", "on_disconnect", "steps",
    "metadata", "params", "output_location", "storage_access_policy",
}  # fmt: skip


class Refused(Exception):
    """A claim that must not be run; `detail` is the code in the report to the hub."""

    def __init__(self, detail: str, reason: str) -> None:
        super().__init__(reason)
        self.detail = detail
        self.reason = reason


class VerifyingKey:
    """A public key of the hub. One of small order, or with two spellings, is refused."""

    def __init__(self, pem: str) -> None:
        der = _der_in(pem, "PUBLIC KEY")
        if der is None:
            raise WritError("KEY_REJECTED", "this is not a public key in PEM")
        raw = _key_in(der, public_prefix)
        if raw is None:
            raise WritError("KEY_REJECTED", "this is not an Ed25519 key")
        y = int.from_bytes(raw, "little") & (2**255 - 1)
        if y >= field_prime or y in small_order_ys:
            raise WritError("KEY_REJECTED", "the public key is of small order, or not canonically encoded")
        self.pem = pem
        self.key_id = hashlib.sha256(der).hexdigest()[:16]
        self._raw = raw

    def has_signed(self, text: str, signature: Any) -> bool:
        raw = _signature_bytes(signature)
        return raw is not None and ed25519.verify(self._raw, raw, text.encode())


def _der_in(pem: str, label: str) -> Optional[bytes]:
    begin, end = f"-----BEGIN {label}-----", f"-----END {label}-----"
    text = pem.strip()
    if not (text.startswith(begin) and text.endswith(end)) or text.count("-----BEGIN") != 1:
        return None
    try:
        return base64.b64decode("".join(text[len(begin) : -len(end)].split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _key_in(der: bytes, prefix: bytes) -> Optional[bytes]:
    """DER has one spelling for such a key: these bytes, and then the key."""
    is_key = der.startswith(prefix) and len(der) == len(prefix) + ed25519.key_bytes
    return der[len(prefix) :] if is_key else None


def _pem_of(der: bytes, label: str) -> str:
    return f"-----BEGIN {label}-----\n{base64.b64encode(der).decode()}\n-----END {label}-----\n"


def _signature_bytes(signature: Any) -> Optional[bytes]:
    if not isinstance(signature, str) or not signature.startswith("base64:"):
        return None
    text = signature[len("base64:") :]
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == 64 and base64.b64encode(raw).decode() == text else None


class SigningKey:
    """The worker's own key, made at its first start and kept in a file that only its user can read."""

    def __init__(self, path: str) -> None:
        self._seed = self._load(path)
        self.public_pem = _pem_of(public_prefix + ed25519.public_of(self._seed), "PUBLIC KEY")

    def sign(self, text: str) -> str:
        return "base64:" + base64.b64encode(ed25519.sign(self._seed, text.encode())).decode()

    @staticmethod
    def _load(path: str) -> bytes:
        if not os.path.exists(path):
            write_private(path, _pem_of(private_prefix + ed25519.new_seed(), "PRIVATE KEY").encode(), may_replace=False)
        if os.stat(path).st_mode & 0o077:
            raise WritError("CONFIG_INVALID", f"{path} can be read by others; run: chmod 600 {path}")
        with open(path, "rb") as file:
            der = _der_in(file.read().decode("ascii", "replace"), "PRIVATE KEY")
        seed = None if der is None else _key_in(der, private_prefix)
        if seed is None:
            raise WritError("CONFIG_INVALID", f"{path} is not an Ed25519 key")
        return seed


def write_private(path: str, content: bytes, may_replace: bool = True) -> None:
    """Whole or not at all. Without `may_replace`, a file that another process has made meanwhile stays."""
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if may_replace:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    os.unlink(temporary)


class KeyRing:
    """The keys that this worker trusts. A new set counts only if a key that is trusted now has signed it."""

    def __init__(self, roots: list[str], path: str) -> None:
        if not roots:
            raise WritError(
                "CONFIG_INVALID",
                "no key of the hub to trust: pass signing_keys or signing_keys_file, or set WRIT_SIGNING_KEYS_FILE to the"
                " file that `writ keys export --out FILE` writes",
            )
        self._roots = [VerifyingKey(pem) for pem in roots]
        self._path = path
        self._lock = threading.Lock()
        self._set: dict[str, Any] = {"version": 0, "keys": []}
        self._revoked: set[str] = set()
        if os.path.exists(path):
            with open(path, encoding="utf8") as file:
                kept = json.load(file)
            self._set, self._revoked = kept["set"], set(kept["revoked"])

    def trusted(self) -> list[VerifyingKey]:
        known = {entry["key_id"] for entry in self._set["keys"]}
        now_ms = time.time() * 1000
        good = [
            VerifyingKey(entry["public_key"])
            for entry in self._set["keys"]
            if entry["status"] != "revoked"
            and (entry.get("not_after") is None or entry["not_after"] + skew_sec * 1000 > now_ms)
        ]
        roots = [key for key in self._roots if key.key_id not in known]
        return [key for key in [*roots, *good] if key.key_id not in self._revoked]

    def take(self, answer: dict[str, Any]) -> None:
        """Takes what GET /keys answers, as far as it is signed by a trusted key. Raises WritError if none of it is."""
        # All slots of a worker may ask at once, and the file is written under one name.
        with self._lock:
            self._take(answer)

    def _take(self, answer: dict[str, Any]) -> None:
        for revocation in answer.get("revocations", [])[:256]:
            text = canonical({"revoke": revocation["key_id"]})
            for key in self.trusted():
                if key.key_id == revocation["key_id"] and key.has_signed(text, revocation["signature"]):
                    self._revoked.add(key.key_id)
        text = answer["key_set"]["text"]
        signatures = answer["key_set"]["signatures"][:16]
        is_signed = any(
            key.key_id == by["key_id"] and key.has_signed(text, by["signature"])
            for key in self.trusted()
            for by in signatures
        )
        if not is_signed:
            raise WritError("KEY_NOT_TRUSTED", "no key that this worker trusts has signed the hub's keys")
        offered = parse_canonical(text)
        if offered["version"] < self._set["version"]:
            raise WritError("KEY_NOT_TRUSTED", "the hub shows an older set of keys than before")
        self._set = offered
        kept = {"set": self._set, "revoked": sorted(self._revoked)}
        write_private(self._path, json.dumps(kept).encode())


@dataclass(frozen=True)
class Claim:
    """What may be run: everything here comes from bytes whose signature was checked."""

    document: dict[str, Any]
    document_sha256: str
    lease: dict[str, Any]


def verify_claim(answer: dict[str, Any], trusted: list[VerifyingKey], worker_id: str, boot_id: str) -> Claim:
    """Checks a claim before anything of it is used. Raises Refused."""
    document_text, lease_text = answer["document"], answer["lease"]
    _check_signatures(answer, trusted, document_text, lease_text)
    return _checked(document_text, lease_text, worker_id, boot_id)


def check_batch(answer: dict[str, Any], trusted: list[VerifyingKey], worker_id: str) -> None:
    """Checks the one signature of a batch, which covers each document, each lease and the worker. Raises Refused."""
    pairs = [[sha256_hex(job["document"]), sha256_hex(job["lease"])] for job in answer["jobs"]]
    text = canonical({"jobs": pairs, "worker_id": worker_id})
    batch = answer.get("batch")
    more = batch.get("signatures") if isinstance(batch, dict) else None
    is_any_trusted = False
    for by in [batch, *(more if isinstance(more, list) else [])][:signatures_max]:
        for key in trusted:
            if not isinstance(by, dict) or key.key_id != by.get("key_id"):
                continue
            is_any_trusted = True
            if key.has_signed(text, by.get("signature")):
                return
    if is_any_trusted:
        raise Refused("INVALID_SIGNATURE", "the signature of the batch does not verify")
    raise Refused("KEY_NOT_TRUSTED", "the batch is signed by a key that this worker does not trust")


def claim_in_batch(job: dict[str, Any], worker_id: str, boot_id: str) -> Claim:
    """One job of a batch whose signature was checked. Raises Refused."""
    return _checked(job["document"], job["lease"], worker_id, boot_id)


def _checked(document_text: str, lease_text: str, worker_id: str, boot_id: str) -> Claim:
    document_sha256 = sha256_hex(document_text)
    lease = _parse(lease_text, "the lease")
    fields = set(lease)
    if not lease_fields <= fields or not fields <= lease_fields | lease_fields_may:
        raise Refused("JOB_NOT_ACCEPTED", "the lease has fields that this worker does not know")
    now = time.time()
    if lease["worker_id"] != worker_id:
        raise Refused("INVALID_SIGNATURE", "the lease names another worker")
    if lease["document_sha256"] != document_sha256:
        raise Refused("INVALID_SIGNATURE", "the lease names another document")
    if not lease["issued_at_ts"] - skew_sec <= now <= lease["expires_at_ts"] + skew_sec:
        raise Refused("REPLAY", "the lease is not of this time")
    # Without it the attempts that were begun would have to be remembered on disk.
    if lease.get("boot_id") != boot_id:
        raise Refused("REPLAY", "the lease is for another process of this worker")
    document = _parse(document_text, "the document")
    if document.get("job_id") != lease["job_id"]:
        raise Refused("INVALID_SIGNATURE", "the lease names another job than the document")
    unknown = set(document) - document_fields
    if unknown:
        raise Refused("JOB_NOT_ACCEPTED", f"this worker does not know the field {sorted(unknown)[0]} of the document")
    return Claim(document, document_sha256, lease)


def _check_signatures(answer: dict[str, Any], trusted: list[VerifyingKey], document: str, lease: str) -> None:
    """Both texts must be signed by the same key."""
    is_any_trusted = False
    more = answer.get("signatures")
    for by in [answer, *(more if isinstance(more, list) else [])][:signatures_max]:
        for key in trusted:
            if not isinstance(by, dict) or key.key_id != by.get("key_id"):
                continue
            is_any_trusted = True
            lease_signature = by.get("lease_signature") or answer.get("lease_signature")
            if key.has_signed(document, by.get("signature")) and key.has_signed(lease, lease_signature):
                return
    if is_any_trusted:
        raise Refused("INVALID_SIGNATURE", "the signature of the claim does not verify")
    raise Refused("KEY_NOT_TRUSTED", "the claim is signed by a key that this worker does not trust")


def _parse(text: str, what: str) -> dict[str, Any]:
    try:
        value = parse_canonical(text)
    except (ValueError, RecursionError) as error:
        raise Refused("INVALID_SIGNATURE", f"{what} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise Refused("INVALID_SIGNATURE", f"{what} is not an object")
    return value
