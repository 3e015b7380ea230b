"""Setting people aside: who chooses a channel and who tests it, and which outputs the latter draw.

Both are decided by SHA-256 and SHAKE-256 of the counts, so that anybody with the same counts finds the same people and
the same outputs, on every machine. Person i of those with secret s and value x is one who chooses if the i-th word of
the stream (counts, "split", s, x) is small, and draws with the i-th word of the stream (counts, "draw", s, x). Words
know nothing of the people, so that those who test are a random sample as all are, independent of those who choose.

Neither the order of rows or attributes nor the names of outputs matter.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.typing import Integers

CHOOSING = 0.3
"""The share of the people who choose the channel. All others test it: those are what a test lacks first."""
WORD = 2**32
"""Words are below this, and the numerators of a channel sum to it."""
MOST_PEOPLE = 50_000_000
"""Each of them has two words of four bytes; this many take seconds."""
FIRST = b"privacyfunnel: people who are set aside, 1"
"""What the digest of the counts begins with."""


@dataclass(frozen=True, eq=False)
class SetAside:
    """The people of a table in two parts: those who choose a channel, and those who test it."""

    choosing: Integers
    """People at [s, x]."""
    testing: Integers
    """People at [s, x]."""
    _number: Integers
    """_number[x]: of the value x among all combinations, however these are listed."""
    _words: dict[tuple[int, int], Integers]
    """For those who test, with secret s and value x: the words that they draw with."""

    @classmethod
    def of(cls, joint: Joint) -> SetAside:
        """The parts of `joint`, whose values are all combinations of the attributes' values."""
        if not joint.counted:
            raise InvalidJoint("a test needs counts of people; these are probabilities, which say nothing of n")
        if joint.total > MOST_PEOPLE:
            raise InvalidJoint(f"a test goes through all people, and {joint.total:,} are too many ({MOST_PEOPLE:,})")
        number, counts = _numbers(joint), joint.weights.astype(np.int64)
        key = _key(counts, number)
        choosing, words = np.zeros_like(counts), {}
        for s, x in zip(*(part.tolist() for part in np.nonzero(counts)), strict=True):
            n = int(counts[s, x])
            chooses = _stream(key, b"split", s, number[x], n) < int(CHOOSING * WORD)
            choosing[s, x] = int(chooses.sum())
            words[s, x] = _stream(key, b"draw", s, number[x], n)[~chooses]
        return cls(choosing, counts - choosing, number, words)

    def drawn(self, entries: Entries) -> Integers:
        """People at [s, y] of those who test, with an output drawn for each from the channel's exact numerators."""
        rank, n_outputs = self._ranks(entries)
        order = np.lexsort((rank[entries.outputs], entries.inputs))
        inputs, outputs = entries.inputs[order], entries.outputs[order]
        starts = np.searchsorted(inputs, np.arange(self.testing.shape[1] + 1))
        numerators = entries.numerators[order].astype(np.int64)
        found = np.zeros((len(self.testing), n_outputs), dtype=np.int64)
        for (s, x), words in self._words.items():
            own = slice(starts[x], starts[x + 1])
            place = np.searchsorted(np.cumsum(numerators[own]), words, side="right")
            found[s] += np.bincount(outputs[own][place], minlength=n_outputs)
        return found

    def _ranks(self, entries: Entries) -> tuple[Integers, int]:
        """The outputs in an order that comes from what they are given for, not from what they are called."""
        n_outputs = int(entries.outputs.max()) + 1
        order = np.lexsort((self._number[entries.inputs], entries.outputs))
        outputs = entries.outputs[order]
        rows = np.stack([self._number[entries.inputs[order]], entries.numerators[order].astype(np.int64)], axis=1)
        parts = np.split(rows, np.searchsorted(outputs, np.arange(1, n_outputs)))
        rank = np.empty(n_outputs, dtype=np.int64)
        rank[sorted(range(n_outputs), key=lambda y: parts[y].tolist())] = np.arange(n_outputs)
        return rank, n_outputs


def _numbers(joint: Joint) -> Integers:
    """The number of each value of X among all combinations, attributes in the order of their names."""
    order = sorted(range(len(joint.columns)), key=lambda j: joint.attributes[j])
    sizes = [len(joint.columns[j]) for j in order]
    return np.asarray(np.ravel_multi_index(tuple(joint.codes[:, order].T), sizes), dtype=np.int64)


def _key(counts: Integers, number: Integers) -> bytes:
    """A digest of who was counted."""
    order = np.argsort(number)
    order = order[counts[:, order].any(axis=0)]
    digest = hashlib.sha256(FIRST)
    for part in (np.array([len(counts), len(order)]), number[order], counts[:, order]):
        digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
    return digest.digest()


def _stream(key: bytes, what: bytes, s: int, x: int, n: int) -> Integers:
    """The first n words for secret s and value x."""
    place = np.array([s, x], dtype="<i8").tobytes()
    return np.frombuffer(hashlib.shake_256(key + what + place).digest(4 * n), dtype="<u4").astype(np.int64)
