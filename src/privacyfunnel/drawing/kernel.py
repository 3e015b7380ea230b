"""The compiled kernel: draw Y for every row, exactly from the channel, one random 32-bit word per row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.drawing.keyed import Mac, in_chunks
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidChannel, InvalidInput
from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.numeric.cores import cores
from privacyfunnel.protocols.channel import BITS, UNIT, Channel
from privacyfunnel.typing import Integers

BLOCK = 2**19
"""Rows that share one random stream. Part of what a seed means: change it and seeded draws change."""
CHUNK = 2**17
"""Rows drawn at a time: their random words stay in a core's cache. Making words holds Python's lock and drawing
does not, so that smaller chunks have threads wait for each other."""


@dataclass(frozen=True, eq=False)
class AliasTables:
    """A channel laid out for drawing.

    Column x with k outputs has B = 2^⌈log₂ k⌉ buckets, from number `first[x]` on. They split the words of 32
    bits into B equal runs, so that word w falls into bucket first[x] + (w >> shift[x]), 2^shift[x] = 2³²/B.
    Of its run, bucket i gives the words below `cuts[i]` to the output `choices[i, 0]` and the others to
    `choices[i, 1]`. All are integers, and the words of an output add up to its numerator: a uniform word
    draws from exactly Q[·, x].

    A distribution of its own, such as the marginal from which values unseen in fitting are drawn, is one
    more column: append it to the channel, and use the number of that column as the code.

    >>> half = 2**31
    >>> tables = AliasTables.of(Channel.from_numerators(np.array([[half, 0], [half, 2 * half]])))
    >>> tables.channel().numerators.tolist()
    [2147483648, 2147483648, 4294967296]
    """

    n_outputs: int
    first: Integers
    shift: NDArray[np.uint8]
    cuts: NDArray[np.uint32]
    choices: NDArray[np.int32]

    @classmethod
    def of(cls, channel: Channel) -> AliasTables:
        """The tables of every column, in time and memory linear in the channel's entries."""
        if channel.n_outputs > 2**31:
            raise InvalidChannel(f"{channel.n_outputs} outputs do not fit into 32 bits")
        bucket_bits = np.frexp((np.diff(channel.starts) - 1).astype(np.float64))[1].astype(np.int64)  # ⌈log₂ k⌉
        ends = np.cumsum(1 << bucket_bits)
        first = ends - (1 << bucket_bits)
        cuts = np.empty(ends[-1], dtype=np.uint32)
        choices = np.empty((ends[-1], 2), dtype=np.int32)
        _fill_buckets(channel.starts, channel.outputs, channel.numerators, first, bucket_bits, cuts, choices)
        shift = (BITS - bucket_bits).astype(np.uint8)
        for frozen in (first, shift, cuts, choices):
            frozen.setflags(write=False)
        return cls(channel.n_outputs, first, shift, cuts, choices)

    @property
    def n_inputs(self) -> int:
        """The number of columns."""
        return len(self.first)

    @property
    def parts(self) -> tuple[Integers, NDArray[np.uint8], NDArray[np.uint32], NDArray[np.int32]]:
        """What the compiled loop reads."""
        return self.first, self.shift, self.cuts, self.choices

    def channel(self) -> Channel:
        """The channel that the tables draw from, counted bucket by bucket: exactly the one they were made of."""
        shift = self.shift.astype(np.int64)
        inputs = np.repeat(np.arange(self.n_inputs), UNIT >> shift)
        run = (np.arange(len(self.cuts)) - self.first[inputs]) << shift[inputs]
        below = self.cuts - run
        words = np.column_stack([below, (1 << shift[inputs]) - below]).ravel()
        used = words > 0
        keys = np.repeat(inputs, 2)[used] * self.n_outputs + self.choices.ravel()[used]
        pairs, where = np.unique(keys, return_inverse=True)
        numerators = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(numerators, where, words[used])
        return Channel.from_entries(*np.divmod(pairs, self.n_outputs), numerators, (self.n_outputs, self.n_inputs))


def sample(
    tables: AliasTables, codes: NDArray[np.integer[Any]], randomness: Randomness, threads: int | None = None
) -> NDArray[np.int32]:
    """y[i] drawn from Q[·, codes[i]], independently for every row i.

    `threads` is every core by default, and has no influence on the draws: each block of rows has a random
    stream of its own. Besides the answer this takes a megabyte or two per thread.
    """
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InvalidInput("the codes of the rows are a one-dimensional array of integers")
    threads = cores() if threads is None else threads
    if threads < 1:
        raise InvalidInput(f"rows cannot be drawn on {threads} threads")
    y = np.empty(len(codes), dtype=np.int32)
    blocks = range(0, len(codes), BLOCK)
    streams = (randomness.spawn() for _ in blocks)  # in the order of the rows, whoever draws them
    draw = partial(_draw_block, tables, codes, y)
    if min(threads, len(blocks)) <= 1:
        outside = sum(map(draw, blocks, streams))
    else:
        with ThreadPoolExecutor(threads) as pool:
            outside = sum(pool.map(draw, blocks, streams))
    if outside:
        raise InvalidInput(f"{outside} of {len(codes)} rows hold a code outside 0…{tables.n_inputs - 1}")
    return y


def sample_keyed(
    tables: AliasTables,
    codes: NDArray[np.integer[Any]],
    persons: Persons,
    mac: Mac,
    threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """y[i] drawn from Q[·, codes[i]] with the word that person i has for it, the same every time; and marks[i].

    The word is the first 32 bits of AES-CMAC(k; 0 ‖ codes[i] ‖ person i), and the mark its last 64. Marks are
    equal if a person's codes are, tell nothing else to who has no key, and are independent of the words.
    """
    y, marks = np.empty(len(codes), dtype=np.int32), np.empty(len(codes), dtype=np.uint64)

    def draw(low: int, high: int) -> int:
        chunk = codes[low:high]
        found = mac.sealed(persons, low, chunk)
        return _draw_sealed(*tables.parts, _read_only(chunk), found, y[low:high], marks[low:high])

    outside = sum(in_chunks(draw, persons, codes, threads))
    if outside:
        raise InvalidInput(f"{outside} of {len(codes)} rows hold a code outside 0…{tables.n_inputs - 1}")
    return y, marks


def permutation(n: int, randomness: Randomness) -> Integers:
    """0, …, n-1 in an order drawn uniformly from all n! (Fisher–Yates, with rejection so that none is favoured)."""
    if not 0 <= n <= UNIT:
        raise InvalidInput(f"{n} rows cannot be shuffled; at most 2**32 can")
    order = np.arange(n, dtype=np.int64)
    words = np.empty(min(n, CHUNK), dtype=np.uint32)
    last = n - 1
    while last > 0:
        randomness.fill(words)
        last = _shuffle(order, last, words)
    return order


def _draw_block(
    tables: AliasTables, codes: NDArray[np.integer[Any]], y: NDArray[np.int32], start: int, stream: Randomness
) -> int:
    """Draw one block of rows; the number of codes that are no column."""
    words = np.empty(min(CHUNK, len(codes) - start), dtype=np.uint32)
    outside = 0
    for low in range(start, min(start + BLOCK, len(codes)), CHUNK):
        chunk = _read_only(codes[low : low + CHUNK])
        stream.fill(words[: len(chunk)])
        y_chunk = y[low : low + CHUNK]
        outside += _draw(*tables.parts, chunk, words, y_chunk)
    return outside


def _read_only(codes: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Codes as int32 or int64: one compiled version for arrays that may be written and that may not."""
    native = codes.dtype if codes.dtype in (np.int32, np.int64) else np.dtype(np.int64)
    view = np.ascontiguousarray(codes, dtype=native).view()
    view.setflags(write=False)
    return view


@compiled
def _output(
    first: Integers,
    shift: NDArray[np.uint8],
    cuts: NDArray[np.uint32],
    choices: NDArray[np.int32],
    code: Any,
    word: Any,
) -> Any:
    """What a word draws from a column: its high bits choose the bucket, the bucket's cut the output."""
    bucket = np.uint64(first[code]) + (np.uint64(word) >> np.uint64(shift[code]))
    return choices[bucket, np.uint64(word >= cuts[bucket])]


@compiled
def _draw(
    first: Integers,
    shift: NDArray[np.uint8],
    cuts: NDArray[np.uint32],
    choices: NDArray[np.int32],
    codes: NDArray[Any],
    words: NDArray[np.uint32],
    y: NDArray[np.int32],
) -> int:
    """An output for every row; the number of codes that are no column."""
    outside = 0
    for i in range(len(codes)):
        code, word = np.uint64(codes[i]), words[i]  # a negative code becomes a huge one
        if code >= np.uint64(len(first)):
            outside += 1
            continue
        y[i] = _output(first, shift, cuts, choices, code, word)
    return outside


@compiled
def _draw_sealed(
    first: Integers,
    shift: NDArray[np.uint8],
    cuts: NDArray[np.uint32],
    choices: NDArray[np.int32],
    codes: NDArray[Any],
    sealed: NDArray[np.uint64],
    y: NDArray[np.int32],
    marks: NDArray[np.uint64],
) -> int:
    """The same with the lower half of sealed[i, 0] as a word; sealed[i, 1] is the mark."""
    outside = 0
    for i in range(len(codes)):
        code, word = np.uint64(codes[i]), np.uint32(sealed[i, 0] & np.uint64(UNIT - 1))
        marks[i] = sealed[i, 1]
        if code >= np.uint64(len(first)):
            outside += 1
            continue
        y[i] = _output(first, shift, cuts, choices, code, word)
    return outside


@compiled
def _fill_buckets(
    starts: Integers,
    outputs: Integers,
    numerators: Integers,
    first: Integers,
    bucket_bits: Integers,
    cuts: NDArray[np.uint32],
    choices: NDArray[np.int32],
) -> None:
    """Vose's construction in integers: an output with too little for its bucket shares it with one that has enough.

    The open buckets are owed what their outputs hold in total, so next to a poor output there is a rich one.
    """
    most = 1 << np.max(bucket_bits)
    rest = np.empty(most, np.int64)
    stack = np.empty(most, np.int64)  # poor outputs from the left, rich ones from the right
    for x in range(len(first)):
        entry, bucket = starts[x], first[x]
        buckets, entries = 1 << bucket_bits[x], starts[x + 1] - starts[x]
        size = UNIT // buckets
        n_poor, top = 0, buckets
        for i in range(buckets):
            rest[i] = numerators[entry + i] if i < entries else 0
            if rest[i] < size:
                stack[n_poor] = i
                n_poor += 1
            else:
                top -= 1
                stack[top] = i
        while n_poor > 0:
            n_poor -= 1
            poor, rich = stack[n_poor], stack[top]
            cuts[bucket + poor] = poor * size + rest[poor]
            choices[bucket + poor, 0] = outputs[entry + (poor if poor < entries else rich)]
            choices[bucket + poor, 1] = outputs[entry + rich]
            rest[rich] -= size - rest[poor]
            if rest[rich] < size:
                top += 1
                stack[n_poor] = rich
                n_poor += 1
        for i in range(top, buckets):  # full: one output has it all, and a cut at its end might not fit
            cuts[bucket + stack[i]] = stack[i] * size
            choices[bucket + stack[i], :] = outputs[entry + stack[i]]


@compiled
def _shuffle(order: Integers, last: int, words: NDArray[np.uint32]) -> int:
    """Fisher–Yates from `last` down, as far as the words go; the last position not yet settled.

    With m = last + 1 candidates, word·m / 2³² is uniform on 0…m-1 once the 2³² mod m words that would favour
    some candidates are refused: those whose remainder word·m mod 2³² is below 2³² mod m (Lemire 2019).
    """
    for word in words:
        if last < 1:
            break
        m = np.uint64(last + 1)
        product = np.uint64(word) * m
        remainder = product & np.uint64(UNIT - 1)
        if remainder < m and remainder < np.uint64(UNIT) % m:
            continue
        pick = np.int64(product >> np.uint64(BITS))
        order[last], order[pick] = order[pick], order[last]
        last -= 1
    return last
