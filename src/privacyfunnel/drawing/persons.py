"""Persons: texts, or whole numbers as they are written, laid out as the blocks of a message to be authenticated.

A message is 4 bytes of zeros, 4 of an input's number, and the person's letters in UTF-8. It is cut into blocks of
16 bytes; the last one is filled up and given a subkey, as CMAC has it.
"""

from __future__ import annotations

import threading
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
ZEROS = np.uint64(32)
"""Bits of zeros that messages begin with: part of what a key means. Without them, everybody would be drawn anew."""
WORD_BYTES = 8
"""Letters that are read at once."""
INTEGER_WORDS = 3
"""Eight letters each: a sign and 19 digits."""
SPARE = 2
"""Words after the last text: three are read at a time."""
EIGHT_DIGITS = 100_000_000
"""The first number that has more."""

Layout = tuple[NDArray[np.uint64], Integers, Integers, int]
"""Words of eight bytes, little-endian, with some to spare; where texts start in bytes; how long they are; and how long
all of them are, or −1. Texts that are a message of one block need not be there."""


class _Rooms(threading.local):
    """Arrays that a thread uses again: to ask for new pages of memory costs more than to fill them."""

    def __init__(self) -> None:
        self.held: dict[str, NDArray[np.uint64]] = {}


_rooms = _Rooms()


def room(purpose: str, words: int) -> NDArray[np.uint64]:
    """So many words, with anything in them; this thread's next call for the same purpose gets them again."""
    held = _rooms.held.get(purpose)
    if held is None or len(held) < words:
        held = _rooms.held[purpose] = np.empty(words, dtype=np.uint64)
    return held[:words]


class Persons(ABC):
    """Persons as texts, row by row."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def first_blocks(self, low: int, x: NDArray[Any], subkeys: NDArray[np.uint64], plain: NDArray[np.uint64]) -> Layout:
        """Put the first blocks of the messages of rows from `low` on, with inputs x, into plain[i, :]."""


@dataclass(frozen=True, eq=False)
class Texts(Persons):
    """The text of row i is the bytes offsets[i], …, offsets[i + 1] − 1 of `data`, as Arrow keeps them."""

    data: NDArray[np.uint8]
    offsets: NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[Any]:
        """Bytes of the texts."""
        return np.diff(self.offsets)

    def first_blocks(self, low: int, x: NDArray[Any], subkeys: NDArray[np.uint64], plain: NDArray[np.uint64]) -> Layout:
        offsets = self.offsets[low : low + len(x) + 1].astype(np.int64)
        begin = int(offsets[0]) // WORD_BYTES * WORD_BYTES
        words = self._words(begin, int(offsets[-1]))
        offsets -= begin
        frozen, starts, lengths = _read_only(words), _read_only(offsets[:-1]), np.empty(len(x), dtype=np.int64)
        same = _of_texts(frozen, _read_only(offsets), lengths, _native(x), subkeys, plain)
        return frozen, starts, _read_only(lengths), same

    def _words(self, begin: int, end: int) -> NDArray[np.uint64]:
        """The bytes from `begin` to `end` as words, and some more; copied only if there are no more."""
        size = (end - begin) // WORD_BYTES + 1 + SPARE
        if begin + size * WORD_BYTES <= len(self.data) and not self.data.ctypes.data % WORD_BYTES:
            return self.data[begin : begin + size * WORD_BYTES].view(np.uint64)
        words = room("texts", size)
        words.view(np.uint8)[: end - begin] = self.data[begin:end]
        return words


@dataclass(frozen=True, eq=False)
class Numbers(Persons):
    """Whole numbers, as they are written in decimal."""

    numbers: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def first_blocks(self, low: int, x: NDArray[Any], subkeys: NDArray[np.uint64], plain: NDArray[np.uint64]) -> Layout:
        words = room("texts", len(x) * INTEGER_WORDS + SPARE)
        starts, lengths = np.empty(len(x), dtype=np.int64), np.empty(len(x), dtype=np.int64)
        numbers = _native(self.numbers[low : low + len(x)])
        same = _of_numbers(numbers, words, starts, lengths, _native(x), subkeys, plain)
        return _read_only(words), _read_only(starts), _read_only(lengths), same


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
def _first(head: Any, letters: Any, length: Any, subkeys: NDArray[np.uint64]) -> Any:
    """The first block of a message; with a subkey where that is all."""
    eight = np.uint64(8)
    if length < eight:
        return head ^ subkeys[1, 0], _ended(letters, length) ^ subkeys[1, 1]
    if length == eight:
        return head ^ subkeys[0, 0], letters ^ subkeys[0, 1]
    return head, letters


@compiled
def _of_texts(
    words: NDArray[np.uint64],
    offsets: Integers,
    lengths: Integers,
    x: NDArray[Any],
    subkeys: NDArray[np.uint64],
    plain: NDArray[np.uint64],
) -> int:
    """The first block of every message, and the lengths of the texts; the one of all of them, or −1."""
    same = offsets[1] - offsets[0] if len(x) else -1
    for i in range(len(x)):
        head = np.uint64(x[i]) << ZEROS
        length = offsets[i + 1] - offsets[i]
        lengths[i] = length
        if length != same:
            same = -1
        letters = _eight(words, np.uint64(offsets[i]))
        plain[i, 0], plain[i, 1] = _first(head, letters, np.uint64(length), subkeys)
    return int(same)


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
    subkeys: NDArray[np.uint64],
    plain: NDArray[np.uint64],
) -> int:
    """The first block of every message; longer numbers end their three words. The length of all of them, or −1."""
    text, many, eight = words.view(np.uint8), np.uint64(EIGHT_DIGITS), np.uint64(8)
    same = -1
    for i in range(len(x)):
        head = np.uint64(x[i]) << ZEROS
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
        if i == 0:
            same = lengths[i]
        elif lengths[i] != same:
            same = -1
        plain[i, 0], plain[i, 1] = _first(head, letters, length, subkeys)
    return int(same)


@compiled
def same_blocks(
    words: NDArray[np.uint64],
    starts: Integers,
    before: int,
    rest: int,
    subkeys: NDArray[np.uint64],
    plain: NDArray[np.uint64],
    sealed: NDArray[np.uint64],
) -> None:
    """The next block of texts of one length, of which `before` bytes are through AES and `rest` are left, to `plain`.

    What is done to the end of a text is the same for all of them: letters & keep ^ end.
    """
    every, bits_of_byte = ~np.uint64(0), np.uint64(3)
    keep_low, keep_high, end_low, end_high = every, every, np.uint64(0), np.uint64(0)
    if rest <= 16:
        k = 0 if rest == 16 else 1
        end_low, end_high = subkeys[k, 0], subkeys[k, 1]
    if rest < 8:
        used = np.uint64(rest) << bits_of_byte
        keep_low, keep_high = (np.uint64(1) << used) - np.uint64(1), np.uint64(0)
        end_low ^= np.uint64(0x80) << used
    elif rest < 16:
        used = np.uint64(rest - 8) << bits_of_byte
        keep_high = (np.uint64(1) << used) - np.uint64(1)
        end_high ^= np.uint64(0x80) << used
    for i in range(len(starts)):
        start = np.uint64(starts[i] + before)
        at, bits = start >> bits_of_byte, (start & np.uint64(7)) << bits_of_byte
        fill, middle = np.uint64(63) - bits, words[at + np.uint64(1)]
        low = words[at] >> bits | middle << fill << np.uint64(1)
        high = middle >> bits | words[at + np.uint64(2)] << fill << np.uint64(1)
        plain[i, 0] = sealed[i, 0] ^ (low & keep_low) ^ end_low
        plain[i, 1] = sealed[i, 1] ^ (high & keep_high) ^ end_high


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
