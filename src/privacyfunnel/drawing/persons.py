"""Persons: texts, or whole numbers as they are written, laid out as the blocks of a message to be authenticated.

A message is 4 bytes of a block's number, 4 of an input's, and the person's letters in UTF-8. It is cut into blocks of
16 bytes; the last one is filled up and given a subkey, as CMAC has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers

HALVES = 2
"""Words of 64 bits in a block of AES."""
HEAD = 8
"""Bytes of a message before the person's own."""
INTEGER_WORDS = 3
"""Eight letters each: a sign and 19 digits."""
SPARE = 2
"""Words after the last text: three are read at a time."""
EIGHT_DIGITS = 100_000_000
"""The first number that has more."""

Layout = tuple[NDArray[np.uint64], Integers, Integers]
"""Words of eight bytes, little-endian, with some to spare; where texts start in bytes; how long they
are. Texts that are a message of one block need not be there."""


class Persons(ABC):
    """Persons as texts, row by row."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def first_blocks(
        self, low: int, x: NDArray[Any], block: int, subkeys: NDArray[np.uint64], plain: NDArray[np.uint64]
    ) -> Layout:
        """Put the first blocks of the messages of rows from `low` on, with inputs x, into plain[i, :]."""


@dataclass(frozen=True, eq=False)
class Texts(Persons):
    """The text of row i is the bytes starts[i], …, starts[i] + lengths[i] − 1 of `words`."""

    words: NDArray[np.uint64]
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, data: NDArray[np.uint8], offsets: NDArray[Any]) -> Texts:
        """The texts between offsets into one run of bytes, as Arrow keeps them."""
        offsets = offsets.astype(np.int64)
        low, high = int(offsets[0]), int(offsets[-1])
        words = np.empty((high - low) // 8 + 1 + SPARE, dtype=np.uint64)
        words.view(np.uint8)[: high - low] = data[low:high]
        return cls(_read_only(words), _read_only(offsets[:-1] - low), _read_only(np.diff(offsets)))

    def __len__(self) -> int:
        return len(self.starts)

    def first_blocks(
        self, low: int, x: NDArray[Any], block: int, subkeys: NDArray[np.uint64], plain: NDArray[np.uint64]
    ) -> Layout:
        layout = self.words, self.starts[low : low + len(x)], self.lengths[low : low + len(x)]
        _of_texts(*layout, _native(x), block, subkeys, plain)
        return layout


@dataclass(frozen=True, eq=False)
class Numbers(Persons):
    """Whole numbers, as they are written in decimal."""

    numbers: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def first_blocks(
        self, low: int, x: NDArray[Any], block: int, subkeys: NDArray[np.uint64], plain: NDArray[np.uint64]
    ) -> Layout:
        words = np.empty(len(x) * INTEGER_WORDS + SPARE, dtype=np.uint64)
        starts, lengths = np.empty(len(x), dtype=np.int64), np.empty(len(x), dtype=np.int64)
        numbers = _native(self.numbers[low : low + len(x)])
        _of_numbers(numbers, words, starts, lengths, _native(x), block, subkeys, plain)
        return _read_only(words), _read_only(starts), _read_only(lengths)


def _native(x: NDArray[Any]) -> NDArray[Any]:
    """A contiguous array of int32 or int64 that nobody writes to: few compiled versions serve all."""
    kind = x.dtype if x.dtype in (np.int32, np.int64) else np.dtype(np.int64)
    return _read_only(np.ascontiguousarray(x, dtype=kind))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


@compiled
def _eight(words: NDArray[np.uint64], start: Any) -> Any:
    """The eight bytes from `start` on."""
    at, bits = start >> np.uint64(3), (start & np.uint64(7)) << np.uint64(3)
    return words[at] >> bits | words[at + np.uint64(1)] << (np.uint64(63) - bits) << np.uint64(1)


@compiled
def _ended(word: Any, left: Any) -> Any:
    """A word of which `left` < 8 bytes belong to the text, and after them CMAC's padding bit."""
    used = left << np.uint64(3)
    return word & ((np.uint64(1) << used) - np.uint64(1)) | np.uint64(0x80) << used


@compiled
def _of_texts(
    words: NDArray[np.uint64],
    starts: Integers,
    lengths: Integers,
    x: NDArray[Any],
    block: int,
    subkeys: NDArray[np.uint64],
    plain: NDArray[np.uint64],
) -> None:
    """The first block of every message, with a subkey where that is all."""
    eight = np.uint64(8)
    for i in range(len(x)):
        head = np.uint64(block) | np.uint64(x[i]) << np.uint64(32)
        letters, length = _eight(words, np.uint64(starts[i])), np.uint64(lengths[i])
        if length < eight:
            head, letters = head ^ subkeys[1, 0], _ended(letters, length) ^ subkeys[1, 1]
        elif length == eight:
            head, letters = head ^ subkeys[0, 0], letters ^ subkeys[0, 1]
        plain[i, 0], plain[i, 1] = head, letters


@compiled
def _digits(number: Any) -> Any:
    """Eight decimal digits as letters, the first one lowest: halves of four digits, of two, of one."""
    fours = number // np.uint64(10_000)
    fours |= (number - fours * np.uint64(10_000)) << np.uint64(32)
    hundreds = (fours * np.uint64(10_486)) >> np.uint64(20) & np.uint64(0x7F0000007F)
    twos = hundreds | (fours - hundreds * np.uint64(100)) << np.uint64(16)
    tens = (twos * np.uint64(103)) >> np.uint64(10) & np.uint64(0x000F000F000F000F)
    return (tens | (twos - tens * np.uint64(10)) << np.uint64(8)) + np.uint64(0x3030303030303030)


@compiled
def _n_digits(number: Any) -> Any:
    """How many digits a number below 10⁸ has."""
    few = np.uint64(1)
    if number >= np.uint64(10_000):
        few, number = np.uint64(5), number // np.uint64(10_000)
    more = np.uint64(number >= np.uint64(10)) + np.uint64(number >= np.uint64(100))
    return few + more + np.uint64(number >= np.uint64(1_000))


@compiled
def _of_numbers(
    numbers: NDArray[Any],
    words: NDArray[np.uint64],
    starts: Integers,
    lengths: Integers,
    x: NDArray[Any],
    block: int,
    subkeys: NDArray[np.uint64],
    plain: NDArray[np.uint64],
) -> None:
    """The first block of every message, with a subkey where that is all; longer numbers end their three words."""
    text, many, eight = words.view(np.uint8), np.uint64(EIGHT_DIGITS), np.uint64(8)
    for i in range(len(x)):
        head = np.uint64(block) | np.uint64(x[i]) << np.uint64(32)
        number = np.int64(numbers[i])
        if 0 <= number < EIGHT_DIGITS:
            length = _n_digits(np.uint64(number))
            letters = _digits(np.uint64(number)) >> ((eight - length) << np.uint64(3))
        else:
            rest = np.uint64(number) if number >= 0 else np.uint64(-(number + 1)) + np.uint64(1)  # −2⁶³ is alone
            higher, last = rest // many, (i + 1) * INTEGER_WORDS - 1
            highest = higher // many
            words[last] = _digits(rest - higher * many)
            words[last - 1], words[last - 2] = _digits(higher - highest * many), _digits(highest)
            at = (last - 2) * 8
            while text[at] == 48:
                at += 1
            if number < 0:
                at -= 1
                text[at] = 45
            starts[i], length = at, np.uint64((last + 1) * 8 - at)
            letters = _eight(words, np.uint64(at))
        lengths[i] = length
        if length < eight:
            head, letters = head ^ subkeys[1, 0], _ended(letters, length) ^ subkeys[1, 1]
        elif length == eight:
            head, letters = head ^ subkeys[0, 0], letters ^ subkeys[0, 1]
        plain[i, 0], plain[i, 1] = head, letters


@compiled
def next_blocks(
    words: NDArray[np.uint64],
    starts: Integers,
    lengths: Integers,
    done: int,
    n: int,
    subkeys: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    plain: NDArray[np.uint64],
    sealed: NDArray[np.uint64],
    found: NDArray[np.uint64],
) -> int:
    """Messages of `done` bytes or fewer are through AES, and go to `found`; the next block of the others to `plain`.

    How many are left; rows[a] is the row whose block is number a.
    """
    left, eight, before = np.uint64(0), np.uint64(8), done - HEAD
    for a in range(n):
        i = np.uint64(rows[a])
        if lengths[i] <= before:
            found[i, 0], found[i, 1] = sealed[a, 0], sealed[a, 1]
            continue
        start, rest = np.uint64(starts[i] + before), np.uint64(lengths[i] - before)
        at, bits = start >> np.uint64(3), (start & np.uint64(7)) << np.uint64(3)
        fill, middle = np.uint64(63) - bits, words[at + np.uint64(1)]
        low = words[at] >> bits | middle << fill << np.uint64(1)
        high = middle >> bits | words[at + np.uint64(2)] << fill << np.uint64(1)
        if rest <= eight + eight:
            if rest == eight + eight:
                low, high = low ^ subkeys[0, 0], high ^ subkeys[0, 1]
            elif rest >= eight:
                low, high = low ^ subkeys[1, 0], _ended(high, rest - eight) ^ subkeys[1, 1]
            else:
                low, high = _ended(low, rest) ^ subkeys[1, 0], subkeys[1, 1]
        plain[left, 0], plain[left, 1] = sealed[a, 0] ^ low, sealed[a, 1] ^ high
        rows[left] = np.uint32(i)
        left += np.uint64(1)
    return int(left)
