import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.cmac import CMAC
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from privacyfunnel.drawing import keyed
from privacyfunnel.drawing.kernel import AliasTables, sample_keyed
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.persons import Numbers, Texts
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.channel import UNIT, Channel

KEY = bytes(range(16))
PLAUSIBLE, ABSURD = 1e-6, 1e-9
COARSE = 1 << 16
"""All words of so many different first bits are gone through."""


def standard(key, x, person):
    mac = CMAC(AES128(key))
    mac.update(struct.pack("<II", 0, x) + person)
    return mac.finalize()


def texts(persons):
    offsets = np.cumsum([0, *map(len, persons)])
    return Texts(np.frombuffer(b"".join(persons), dtype=np.uint8), offsets)


@given(
    st.lists(st.binary(min_size=1, max_size=70), min_size=1, max_size=30),
    st.binary(min_size=16, max_size=16),
)
def test_a_mac_is_that_of_the_standard_for_every_length(persons, key):
    x = np.arange(len(persons), dtype=np.int32) * 7919
    found = Mac(key).of(texts(persons), x)
    for row, number, person in zip(found, x.tolist(), persons, strict=True):
        assert row.tobytes() == standard(key, number, person)


@given(
    st.lists(
        st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200) | st.integers(0, 18).map(lambda e: 10**e),
        min_size=1,
        max_size=40,
    )
)
def test_a_number_is_the_person_whose_text_it_is(numbers):
    x = np.zeros(len(numbers), dtype=np.int32)
    as_texts = texts([str(number).encode() for number in numbers])
    assert (Mac(KEY).of(Numbers(np.array(numbers)), x) == Mac(KEY).of(as_texts, x)).all()


def test_numbers_around_powers_of_ten_are_written_as_they_are():
    numbers = [sign * (10**e + d) for e in range(19) for d in (-1, 0, 1) for sign in (1, -1)]
    found = Mac(KEY).of(Numbers(np.array(numbers)), np.zeros(len(numbers), dtype=np.int64))
    for row, number in zip(found, numbers, strict=True):
        assert row.tobytes() == standard(KEY, 0, str(number).encode())


@pytest.mark.parametrize("length", range(1, 60))
def test_texts_of_one_length_go_through_together_and_come_out_the_same(length):
    rng = np.random.default_rng(length)
    persons = [rng.bytes(length) for _ in range(5)]
    whole = texts([b"before", *persons])  # whose first text is not among them
    same = Texts(whole.data, whole.offsets[1:])
    x = rng.integers(0, 2**31 - 1, 5).astype(np.int32)
    assert same.first_blocks(0, x, np.zeros((2, 2), dtype=np.uint64), np.empty((6, 2), dtype=np.uint64))[3] == length
    for row, number, person in zip(Mac(KEY).of(same, x), x.tolist(), persons, strict=True):
        assert row.tobytes() == standard(KEY, number, person)


def test_rows_of_many_lengths_threads_and_chunks_do_not_change_a_mac(monkeypatch):
    rng = np.random.default_rng(1)
    persons = texts([rng.bytes(int(n)) for n in rng.integers(1, 60, 5000)])
    x = rng.integers(0, 99, 5000).astype(np.int32)
    whole = Mac(KEY).of(persons, x, threads=1)
    monkeypatch.setattr(keyed, "CHUNK", 37)
    assert (Mac(KEY).of(persons, x, threads=3) == whole).all()


class Counting:
    """A Mac that hands out given words."""

    def __init__(self, words):
        self.words = words

    def sealed(self, _persons, low, x):
        words = self.words[low : low + len(x)] | np.uint64(0xABCDEF << 32)
        return np.column_stack([words, np.full_like(words, 5)])


def test_over_all_words_the_draws_are_exactly_the_channel():
    step = UNIT // COARSE
    N = np.array([[7, 40000, 0], [65529, 20000, COARSE], [0, 5536, 0]]) * step
    tables, words = AliasTables.of(Channel.from_numerators(N)), np.arange(COARSE, dtype=np.uint64) * step
    persons = Numbers(np.arange(COARSE))
    for x in range(3):
        y, marks = sample_keyed(tables, np.full(COARSE, x, dtype=np.int32), persons, Counting(words))
        assert np.bincount(y, minlength=3).tolist() == (N[:, x] // step).tolist()
        assert (marks == 5).all()


def chance(y, channel, x):
    """The chance of draws at least this far from column x, by chi-square."""
    expected = channel.dense()[:, x] * len(y)
    statistic = ((np.bincount(y, minlength=len(expected)) - expected) ** 2 / expected).sum()
    return chi2.sf(statistic, len(expected) - 1)


def test_draws_of_people_follow_the_channel_and_a_slightly_other_one_is_rejected():
    right = np.array([[0.2, 0.5], [0.3, 0.25], [0.5, 0.25]])
    channel = Channel.from_dense((np.round(right * UNIT)).astype(np.int64) / UNIT)
    shift = np.array([[0.003, 0], [-0.003, 0], [0, 0]])
    wrong = Channel.from_dense(np.round((right + shift) * UNIT) / UNIT)
    n = 2_000_000
    y, _ = sample_keyed(AliasTables.of(channel), np.zeros(n, dtype=np.int32), Numbers(np.arange(n)), Mac(KEY))
    assert chance(y, channel, 0) > PLAUSIBLE
    assert chance(y, wrong, 0) < ABSURD


def test_draws_of_one_person_under_many_keys_follow_the_channel():
    channel = Channel.from_numerators(np.array([[UNIT // 4], [3 * UNIT // 4]]))
    tables, person, rng = AliasTables.of(channel), Numbers(np.array([17])), np.random.default_rng(3)
    x = np.zeros(1, dtype=np.int32)
    y = np.array([sample_keyed(tables, x, person, Mac(rng.bytes(16)))[0][0] for _ in range(4000)])
    assert chance(y, channel, 0) > PLAUSIBLE


def test_words_of_inputs_and_persons_have_nothing_in_common():
    n, half = 200_000, Channel.from_numerators(np.array([[UNIT // 2] * 2, [UNIT // 2] * 2]))
    tables, persons, x = AliasTables.of(half), Numbers(np.arange(n)), np.zeros(n, dtype=np.int32)
    base = sample_keyed(tables, x, persons, Mac(KEY))[0]
    others = [
        sample_keyed(tables, x + 1, persons, Mac(KEY))[0],
        sample_keyed(tables, x, Numbers(np.arange(n) + n), Mac(KEY))[0],
        sample_keyed(tables, x, persons, Mac(KEY[::-1]))[0],
    ]
    for other in others:
        assert abs(np.mean(base == other) - 0.5) < 6 * 0.5 / n**0.5


def test_marks_tell_whether_the_input_is_the_same():
    channel = Channel.from_numerators(np.array([[UNIT] * 3]))
    persons = Numbers(np.arange(1000))
    marks = [sample_keyed(AliasTables.of(channel), np.full(1000, x), persons, Mac(KEY))[1] for x in (0, 1, 0)]
    assert (marks[0] == marks[2]).all()
    assert not (marks[0] == marks[1]).any()
    assert len(np.unique(np.concatenate(marks))) == 2000


def test_codes_outside_other_numbers_of_persons_and_short_keys_are_refused():
    tables = AliasTables.of(Channel.from_numerators(np.array([[UNIT]])))
    with pytest.raises(InvalidInput, match="1 of 2 rows hold a code outside"):
        sample_keyed(tables, np.array([0, 1]), Numbers(np.array([1, 2])), Mac(KEY))
    with pytest.raises(InvalidInput, match="1 persons for 2 rows"):
        sample_keyed(tables, np.array([0, 0]), Numbers(np.array([1])), Mac(KEY))
    with pytest.raises(InvalidInput, match="threads"):
        sample_keyed(tables, np.array([0]), Numbers(np.array([1])), Mac(KEY), threads=0)
    with pytest.raises(InvalidInput, match="16 bytes"):
        Mac(b"short")
