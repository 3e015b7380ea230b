"""Random bits: the key stream of AES-128 in counter mode, under a key from the operating system."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidInput

KEY_BYTES = 16
"""AES-128, which nobody breaks; a longer key would be slower and no safer here."""
BLOCK_BYTES = 16
"""Of AES: the counter starts at 0, since every stream has a key of its own."""
PIECE_BYTES = 2**18
"""Encrypted at a time, so that the zeros stay in a core's cache and one block of them serves all lengths."""
_ZEROS = memoryview(bytes(PIECE_BYTES))  # a slice of it is no copy

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """What differs between a process and its forks: process numbers alone come round again."""
    return os.getpid(), _forks


class Randomness:
    """The bytes AES_k(0), AES_k(1), AES_k(2), … of one key k, each handed out once.

    - `Randomness.secure()` draws k from the operating system. A forked child draws a new k before its
      next byte, so that parent and child never release the same stream.
    - `Randomness.keyed(k)` takes a secret key that somebody else drew from the operating system. It repeats
      itself for whoever holds the key: workers that may have to do the same work twice need that.
    - `Randomness.seeded(seed)` makes k from a seed. It repeats itself, also in a fork: for tests only.
      Whoever knows the seed can subtract the noise.

    An object serves one thread; `spawn` gives another thread a stream of its own. It cannot be pickled,
    because a copy would repeat the stream.

    >>> Randomness.seeded(1).words(2).tolist() == Randomness.seeded(1).words(2).tolist()
    True
    """

    def __init__(self, key: bytes, seed: int | None, repeats: bool = True) -> None:
        self.seed = seed
        self._repeats = repeats
        self._start(key)

    @classmethod
    def secure(cls) -> Randomness:
        """A stream that nobody can predict or repeat."""
        return cls(os.urandom(KEY_BYTES), seed=None, repeats=False)

    @classmethod
    def keyed(cls, key: bytes) -> Randomness:
        """The stream of a secret key of 16 bytes, the same every time."""
        if len(key) != KEY_BYTES:
            raise InvalidInput(f"a key has {KEY_BYTES} bytes")
        return cls(key, seed=None)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """The stream of k = the first 16 bytes of SHA-256("privacyfunnel seed <seed>"); never for a release."""
        key = hashlib.sha256(f"privacyfunnel seed {int(seed)}".encode()).digest()[:KEY_BYTES]
        return cls(key, seed=int(seed))

    def fill(self, buffer: NDArray[Any]) -> None:
        """Overwrite a contiguous array of integers with the next bytes of the stream."""
        if buffer.dtype.kind not in "iu" or not buffer.flags.c_contiguous or not buffer.flags.writeable:
            raise InvalidInput("random bits go into a writable, contiguous array of integers")
        if not self._repeats and self._owner != _process():
            self._start(os.urandom(KEY_BYTES))
        target = buffer.reshape(-1).view(np.uint8).data
        for start in range(0, len(target), PIECE_BYTES):
            piece = target[start : start + PIECE_BYTES]
            self._stream.update_into(_ZEROS[: len(piece)], piece)

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of 64 bits, each uniform."""
        words = np.empty(n, dtype=np.uint64)
        self.fill(words)
        return words

    def spawn(self) -> Randomness:
        """A stream independent of this one and of every other.

        Its key comes from the operating system or, for a stream that repeats itself, from this stream's next
        16 bytes: the same calls in the same order spawn the same streams.
        """
        if not self._repeats:
            return Randomness.secure()
        key = np.empty(KEY_BYTES, dtype=np.uint8)
        self.fill(key)
        return Randomness(key.tobytes(), self.seed)

    def _start(self, key: bytes) -> None:
        self._owner = _process()
        self._stream: CipherContext = Cipher(AES128(key), CTR(bytes(BLOCK_BYTES))).encryptor()
