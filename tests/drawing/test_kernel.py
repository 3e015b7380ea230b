import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from privacyfunnel.drawing.kernel import BLOCK, AliasTables, sample
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidChannel, InvalidInput
from privacyfunnel.numeric import compiled
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers

ROWS = 10**7
PLAUSIBLE, ABSURD = 1e-6, 1e-9
SMALLEST_EXPECTED = 5
"""Cells that should hold fewer rows are put together: below, chi-square is no good approximation."""


@st.composite
def channels(draw: st.DrawFn, n_outputs: int = 60) -> Channel:
    """Up to 8 columns of 1 to 40 outputs: tiny numerators, powers of two, and any others."""
    point = st.integers(1, 60) | st.integers(0, 31).map(lambda e: 2**e) | st.integers(1, UNIT - 1)
    columns = [sorted(cuts) for cuts in draw(st.lists(st.sets(point, max_size=39), min_size=1, max_size=8))]
    N = np.zeros((n_outputs, len(columns)), dtype=np.int64)
    for x, cuts in enumerate(columns):
        outputs = draw(
            st.lists(st.integers(0, n_outputs - 1), unique=True, min_size=len(cuts) + 1, max_size=len(cuts) + 1)
        )
        N[outputs, x] = np.diff([0, *cuts, UNIT])
    return Channel.from_numerators(N)


def random_channel(n_outputs: int, n_inputs: int, per_column: int, seed: int = 0) -> Channel:
    rng = np.random.default_rng(seed)
    N = np.zeros((n_outputs, n_inputs), dtype=np.int64)
    for x in range(n_inputs):
        parts = 1 + rng.multinomial(UNIT - per_column, rng.dirichlet(np.ones(per_column)))
        N[rng.choice(n_outputs, per_column, replace=False), x] = parts
    return Channel.from_numerators(N)


def numerators(channel: Channel) -> Integers:
    N = np.zeros((channel.n_outputs, channel.n_inputs), dtype=np.int64)
    N[channel.outputs, channel.inputs] = channel.numerators
    return N


def one_percent_off(channel: Channel) -> Channel:
    """In every column the first, third, … likeliest output loses 1% of its probability to the next one."""
    N = numerators(channel)
    for x in range(channel.n_inputs):
        ranked = np.argsort(N[:, x])[::-1][: np.count_nonzero(N[:, x])]
        for giver, taker in zip(ranked[::2], ranked[1::2], strict=False):
            moved = N[giver, x] // 100
            N[[giver, taker], x] += [-moved, moved]
    return Channel.from_numerators(N)


def counts(channel: Channel, codes: Integers, y: NDArray[np.int32]) -> Integers:
    """How often output y was drawn for input x; shape (inputs, outputs)."""
    size = channel.n_inputs * channel.n_outputs
    return np.bincount(codes * channel.n_outputs + y, minlength=size).reshape(channel.n_inputs, -1)


def p_value(channel: Channel, observed: Integers) -> float:
    """Pearson's chi-square of the draws against the exact channel, given how often each input came."""
    expected = channel.dense().T * observed.sum(axis=1, keepdims=True)
    rare = expected < SMALLEST_EXPECTED
    pooled = [np.where(rare, table, 0).sum() for table in (observed, expected)]
    statistic = ((observed - expected)[~rare] ** 2 / expected[~rare]).sum()
    degrees = (~rare).sum() - channel.n_inputs
    if pooled[1] >= SMALLEST_EXPECTED:
        statistic, degrees = statistic + (pooled[0] - pooled[1]) ** 2 / pooled[1], degrees + 1
    return float(chi2.sf(statistic, degrees))


class Words(Randomness):
    """Gives out the words of a list, in order, instead of random ones."""

    def __init__(self, words: NDArray[np.uint32]) -> None:
        super().__init__(bytes(16), seed=0)
        self.words_left = words

    def spawn(self) -> Randomness:
        return self

    def fill(self, buffer: NDArray[Any]) -> None:
        buffer[:], self.words_left = np.split(self.words_left, [len(buffer)])


@settings(max_examples=300, deadline=None)
@given(channels())
def test_the_tables_reproduce_the_integers_of_the_channel(channel: Channel):
    again = AliasTables.of(channel).channel()
    assert (numerators(again) == numerators(channel)).all()


@settings(max_examples=300, deadline=None)
@given(channels())
def test_the_tables_have_a_power_of_two_of_buckets_and_no_output_of_probability_zero(channel: Channel):
    tables = AliasTables.of(channel)
    buckets = UNIT >> tables.shift.astype(np.int64)
    k = np.diff(channel.starts)
    assert ((k <= buckets) & (buckets < 2 * k)).all()
    inputs = np.repeat(np.arange(channel.n_inputs), buckets)
    assert (numerators(channel)[tables.choices, inputs[:, None]] > 0).all()


def test_a_fair_coin_has_two_full_buckets():
    tables = AliasTables.of(Channel.from_numerators(np.array([[UNIT // 2], [UNIT // 2]])))
    assert (tables.first.tolist(), tables.shift.tolist()) == ([0], [31])
    assert tables.choices.tolist() == [[0, 0], [1, 1]]


def test_three_quarters_against_one_share_a_bucket():
    tables = AliasTables.of(Channel.from_numerators(np.array([[UNIT // 4], [3 * UNIT // 4]])))
    assert tables.cuts.tolist() == [UNIT // 4, UNIT // 2]
    assert tables.choices.tolist() == [[0, 1], [1, 1]]


def test_many_columns_of_many_sizes_are_exact():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 8, 100_000)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    outputs = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes) + np.repeat(rng.integers(0, 99_993, 100_000), sizes)
    parts = rng.integers(1, UNIT // 8, starts[-1])
    parts[starts[1:] - 1] = 0
    parts[starts[1:] - 1] = UNIT - np.add.reduceat(parts, starts[:-1])
    channel = Channel(100_000, starts, outputs, parts)
    again = AliasTables.of(channel).channel()
    assert (again.starts == channel.starts).all()
    assert (again.outputs == channel.outputs).all()
    assert (again.numerators == channel.numerators).all()


@pytest.mark.parametrize("per_column", [1, 2, 3, 16, 37])
def test_equally_spaced_words_draw_every_output_exactly_as_often_as_the_channel_says(per_column: int):
    step = 2**12  # numerators that are multiples of it make cuts that are, so that a run of `step` words goes as one
    parts = 1 + np.random.default_rng(2).multinomial(UNIT // step - per_column, np.ones(per_column) / per_column)
    channel = Channel.from_numerators(step * parts[:, None])
    words = np.arange(0, UNIT, step, dtype=np.uint32)
    y = sample(AliasTables.of(channel), np.zeros(len(words), dtype=np.int64), Words(words), threads=1)
    assert (np.bincount(y) == parts).all()


def test_the_words_on_both_sides_of_a_cut_draw_different_outputs():
    tables = AliasTables.of(Channel.from_numerators(np.array([[1], [UNIT - 1]])))
    words = np.array([0, 1, UNIT // 2 - 1, UNIT // 2, UNIT - 1], dtype=np.uint32)
    assert sample(tables, np.zeros(5, dtype=np.int32), Words(words)).tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("n_outputs", "n_inputs", "per_column"), [(2, 1, 2), (100, 100, 3), (16, 16, 16), (300, 5, 130)]
)
def test_ten_million_draws_fit_the_channel_and_the_check_rejects_one_percent(
    n_outputs: int, n_inputs: int, per_column: int
):
    channel = random_channel(n_outputs, n_inputs, per_column)
    codes = np.random.default_rng(3).integers(0, n_inputs, ROWS)
    observed = counts(channel, codes, sample(AliasTables.of(channel), codes, Randomness.seeded(1)))
    assert p_value(channel, observed) > PLAUSIBLE
    assert (observed[channel.dense().T == 0] == 0).all()
    assert p_value(one_percent_off(channel), observed) < ABSURD


def test_a_biased_sampler_is_rejected():
    channel = random_channel(16, 16, 16)
    codes = np.random.default_rng(4).integers(0, 16, ROWS)
    biased = sample(AliasTables.of(one_percent_off(channel)), codes, Randomness.seeded(2))
    assert p_value(channel, counts(channel, codes, biased)) < ABSURD


def test_neighbouring_rows_are_drawn_independently():
    channel = random_channel(4, 1, 4)
    y = sample(AliasTables.of(channel), np.zeros(ROWS, dtype=np.int32), Randomness.seeded(3))
    successors = Channel.from_numerators(np.repeat(numerators(channel), 4, axis=1))
    assert p_value(successors, counts(successors, y[:-1].astype(np.int64), y[1:])) > PLAUSIBLE


def test_two_secure_runs_differ():
    tables, codes = AliasTables.of(random_channel(16, 16, 16)), np.zeros(1000, dtype=np.int32)
    assert (sample(tables, codes, Randomness.secure()) != sample(tables, codes, Randomness.secure())).any()


def test_one_source_never_gives_the_same_draws_twice():
    tables, codes, stream = (
        AliasTables.of(random_channel(16, 16, 16)),
        np.zeros(1000, dtype=np.int32),
        Randomness.seeded(1),
    )
    assert (sample(tables, codes, stream) != sample(tables, codes, stream)).any()


@pytest.mark.parametrize("threads", [1, 2, 3, 8, None])
def test_a_seeded_run_repeats_on_any_number_of_threads(threads: int | None):
    tables = AliasTables.of(random_channel(100, 100, 3))
    codes = np.random.default_rng(5).integers(0, 100, 5 * BLOCK + 4321)
    once = sample(tables, codes, Randomness.seeded(6), threads=1)
    assert (sample(tables, codes, Randomness.seeded(6), threads=threads) == once).all()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", ">i4", "u4", "i4", "i8", "u8"])
def test_codes_of_every_kind_of_integer_draw_the_same(dtype: str):
    tables = AliasTables.of(random_channel(100, 100, 3))
    codes = np.random.default_rng(7).integers(0, 100, 70_000)
    expected = sample(tables, codes, Randomness.seeded(8))
    assert expected.dtype == np.int32
    kind = codes.astype(dtype)
    assert (sample(tables, kind, Randomness.seeded(8)) == expected).all()
    assert (sample(tables, np.repeat(kind, 2)[::2], Randomness.seeded(8)) == expected).all()
    kind.setflags(write=False)
    assert (sample(tables, kind, Randomness.seeded(8)) == expected).all()


@pytest.mark.parametrize("code", [-1, 3, -(2**62), 2**62])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_code_that_is_no_column_is_an_error_and_never_quoted(code: int, threads: int):
    tables = AliasTables.of(random_channel(4, 3, 2))
    codes = np.zeros(2 * BLOCK, dtype=np.int64)
    codes[[7, BLOCK + 7]] = code
    with pytest.raises(InvalidInput, match=f"^2 of {2 * BLOCK} rows hold a code outside 0…2$"):
        sample(tables, codes, Randomness.secure(), threads=threads)


@pytest.mark.parametrize("codes", [np.zeros(3), np.zeros((2, 2), dtype=np.int64), np.zeros(3, dtype=bool)])
def test_codes_that_are_no_list_of_integers_are_an_error(codes: NDArray[Any]):
    with pytest.raises(InvalidInput):
        sample(AliasTables.of(random_channel(2, 1, 2)), codes, Randomness.secure())


def test_no_threads_and_too_many_outputs_are_errors():
    with pytest.raises(InvalidInput, match="0 threads"):
        sample(AliasTables.of(random_channel(2, 1, 2)), np.zeros(1, dtype=np.int64), Randomness.secure(), threads=0)
    wide = Channel(2**31 + 1, np.array([0, 1]), np.array([2**31]), np.array([UNIT]))
    with pytest.raises(InvalidChannel, match="32 bits"):
        AliasTables.of(wide)


def test_no_rows_are_drawn_as_no_rows():
    assert sample(AliasTables.of(random_channel(2, 1, 2)), np.zeros(0, dtype=np.int32), Randomness.secure()).size == 0


def test_the_kernel_works_where_nothing_can_be_kept_on_disk(monkeypatch: pytest.MonkeyPatch):
    def nowhere_to_write(*, cache: bool = False, **_: Any) -> Any:
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr(compiled, "njit", nowhere_to_write)
    assert compiled.compiled(os.getpid)() == os.getpid()
    assert compiled.compiled(reorder_sums=True)(os.getpid)() == os.getpid()
