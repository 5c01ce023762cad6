"""
Ed25519, which Python itself does not have: by the OpenSSL that its ssl module uses, or by the package cryptography where that
library is not to be found. Without either, importing this fails. Why: ADR 0072.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from typing import Any, Optional

key_bytes = 32
signature_bytes = 64
_ed25519 = 1087  # OpenSSL's number for it (NID_ED25519)
_names = ("libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib", "libcrypto-3.dll", "libcrypto-3-x64.dll")


def new_seed() -> bytes:
    return os.urandom(key_bytes)


class OpenSsl:
    """A key is made for each call and freed after it: that takes a few microseconds, and nothing is shared by threads."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._new_public = _function(library.EVP_PKEY_new_raw_public_key, ctypes.c_void_p, "ipsn")
        self._new_private = _function(library.EVP_PKEY_new_raw_private_key, ctypes.c_void_p, "ipsn")
        self._public_of = _function(library.EVP_PKEY_get_raw_public_key, ctypes.c_int, "ppp")
        self._free_key = _function(library.EVP_PKEY_free, None, "p")
        self._new_context = _function(library.EVP_MD_CTX_new, ctypes.c_void_p, "")
        self._free_context = _function(library.EVP_MD_CTX_free, None, "p")
        self._verify_init = _function(library.EVP_DigestVerifyInit, ctypes.c_int, "ppppp")
        self._verify = _function(library.EVP_DigestVerify, ctypes.c_int, "psnsn")
        self._sign_init = _function(library.EVP_DigestSignInit, ctypes.c_int, "ppppp")
        self._sign = _function(library.EVP_DigestSign, ctypes.c_int, "pppsn")

    def verify(self, public: bytes, signature: bytes, message: bytes) -> bool:
        key = self._new_public(_ed25519, None, public, len(public))
        if not key:
            return False
        context = self._new_context()
        try:
            return (
                self._verify_init(context, None, None, None, key) == 1
                and self._verify(context, signature, len(signature), message, len(message)) == 1
            )
        finally:
            self._free_context(context)
            self._free_key(key)

    def sign(self, seed: bytes, message: bytes) -> bytes:
        key = self._private(seed)
        context = self._new_context()
        signature = ctypes.create_string_buffer(signature_bytes)
        length = ctypes.c_size_t(signature_bytes)
        try:
            if (
                self._sign_init(context, None, None, None, key) != 1
                or self._sign(context, signature, ctypes.byref(length), message, len(message)) != 1
                or length.value != signature_bytes
            ):
                raise RuntimeError("OpenSSL could not sign")
            return signature.raw
        finally:
            self._free_context(context)
            self._free_key(key)

    def public_of(self, seed: bytes) -> bytes:
        key = self._private(seed)
        public = ctypes.create_string_buffer(key_bytes)
        length = ctypes.c_size_t(key_bytes)
        try:
            if self._public_of(key, public, ctypes.byref(length)) != 1 or length.value != key_bytes:
                raise RuntimeError("OpenSSL could not tell the public key")
            return public.raw
        finally:
            self._free_key(key)

    def _private(self, seed: bytes) -> Any:
        key = self._new_private(_ed25519, None, seed, len(seed))
        if not key:
            raise RuntimeError("OpenSSL does not accept the private key")
        return key


def _function(found: Any, result: Any, letters: str) -> Any:
    """Declares a function: i is an int, n a size, s bytes, p a pointer. Undeclared, ctypes would cut pointers to 32 bits."""
    kinds = {"i": ctypes.c_int, "n": ctypes.c_size_t, "s": ctypes.c_char_p, "p": ctypes.c_void_p}
    found.restype = result
    found.argtypes = [kinds[letter] for letter in letters]
    return found


class Cryptography:
    """The same by the package; imported only here."""

    def __init__(self) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519

        self._invalid = InvalidSignature
        self._keys = ed25519
        self._raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    def verify(self, public: bytes, signature: bytes, message: bytes) -> bool:
        try:
            self._keys.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
            return True
        except (self._invalid, ValueError):
            return False

    def sign(self, seed: bytes, message: bytes) -> bytes:
        return self._keys.Ed25519PrivateKey.from_private_bytes(seed).sign(message)

    def public_of(self, seed: bytes) -> bytes:
        return self._keys.Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(*self._raw)


def load_openssl() -> Optional[OpenSsl]:
    for name in (*_names, ctypes.util.find_library("crypto")):
        try:
            if name is not None:
                return OpenSsl(ctypes.CDLL(name))
        except (OSError, AttributeError):  # not there, or too old to have these functions
            continue
    return None


_backend = load_openssl() or Cryptography()
verify = _backend.verify
sign = _backend.sign
public_of = _backend.public_of
