"""Keyed words: a person's random words are a function of a secret key, so that they are the same every time.

The words of person w (a text) for the input x of a protocol are the first 32 bits of

    AES-CMAC(k; 0 ‖ x ‖ w),    0 and x as 4 bytes each, little-endian, then the UTF-8 bytes of w,

which is RFC 4493's function, made for all rows at once. The first eight bytes have a fixed length, so different
(x, w) are different messages. If k is uniform, nobody without it tells these words from independent uniform ones
(docs/theory.md, "The same draw again"): each draws from exactly the channel, as a word of a random stream does.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

from privacyfunnel.drawing.persons import HALVES, HEAD, Persons, next_blocks, room, same_blocks
from privacyfunnel.drawing.randomness import BLOCK_BYTES, KEY_BYTES
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.cores import cores

CHUNK = 2**15
"""Rows authenticated at a time: their blocks stay in a core's cache."""
POLYNOMIAL = 0x87
"""x^128 = x^7 + x^2 + x + 1, by which CMAC's subkeys are doubled."""


class Mac:
    """AES-CMAC under one key of 16 bytes."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InvalidInput(f"a key has {KEY_BYTES} bytes")
        self._cipher = Cipher(AES128(key), ECB())  # noqa: S305 - of single blocks, chained as CMAC has it
        self._subkeys = _subkeys(self._cipher)

    def of(self, persons: Persons, x: NDArray[np.integer[Any]], threads: int | None = None) -> NDArray[np.uint64]:
        """CMAC(k; 0 ‖ x[i] ‖ person i) at [i, :], as two little-endian halves; `threads` do not change it."""
        found = np.empty((len(persons), HALVES), dtype=np.uint64)

        def fill(low: int, high: int) -> None:
            found[low:high] = self.sealed(persons, low, x[low:high])

        in_chunks(fill, persons, x, threads)
        return found

    def sealed(self, persons: Persons, low: int, x: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
        """The same for rows from `low` on, with inputs x: block after block through AES, while a row has one more.

        It is there until this thread's next call.
        """
        cipher, n = self._cipher.encryptor(), len(x)
        plain, sealed = (room(name, (n + 1) * HALVES).reshape(-1, HALVES) for name in ("plain", "sealed"))
        words, starts, lengths, length = persons.first_blocks(low, x, self._subkeys, plain)
        if length >= 0:  # of all of them, as identifiers often are: then all have the same number of blocks
            before = BLOCK_BYTES - HEAD
            cipher.update_into(_bytes(plain)[: n * BLOCK_BYTES], _bytes(sealed))
            while before < length:
                same_blocks(words, starts, before, length - before, self._subkeys, plain, sealed)
                cipher.update_into(_bytes(plain)[: n * BLOCK_BYTES], _bytes(sealed))
                before += BLOCK_BYTES
            return sealed[:n]
        found = np.empty((n, HALVES), dtype=np.uint64)
        rows, left, done = np.arange(n, dtype=np.uint32), n, BLOCK_BYTES
        while left:
            cipher.update_into(_bytes(plain)[: left * BLOCK_BYTES], _bytes(sealed))
            left = next_blocks(words, starts, lengths, done, left, self._subkeys, rows, plain, sealed, found)
            done += BLOCK_BYTES
        return found


def in_chunks(
    work: Callable[[int, int], Any], persons: Persons, x: NDArray[np.integer[Any]], threads: int | None
) -> list[Any]:
    """work(low, high) for every chunk of the rows, on so many threads."""
    if len(x) != len(persons):
        raise InvalidInput(f"there are {len(persons)} persons for {len(x)} rows")
    lows, threads = range(0, len(x), CHUNK), cores() if threads is None else threads
    if threads < 1:
        raise InvalidInput(f"rows cannot be drawn on {threads} threads")
    highs = [min(low + CHUNK, len(x)) for low in lows]
    if min(threads, len(lows)) <= 1:
        return list(map(work, lows, highs))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, lows, highs))


def _bytes(blocks: NDArray[np.uint64]) -> memoryview:
    return blocks.reshape(-1).view(np.uint8).data


def _subkeys(cipher: Cipher[ECB]) -> NDArray[np.uint64]:
    """K₁ and K₂ of RFC 4493: AES_k(0), doubled once and twice in the field of 2^128 elements."""
    number = int.from_bytes(cipher.encryptor().update(bytes(BLOCK_BYTES)), "big")
    doubled = []
    for _ in range(2):
        number = (number << 1) % (1 << 128) ^ (POLYNOMIAL if number >> 127 else 0)
        doubled.append(np.frombuffer(number.to_bytes(BLOCK_BYTES, "big"), dtype=np.uint64))
    return np.stack(doubled)
