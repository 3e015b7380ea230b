import hashlib
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray
from scipy.stats import chisquare, norm

from privacyfunnel.drawing.kernel import _shuffle, permutation
from privacyfunnel.drawing.randomness import PIECE_BYTES, Randomness
from privacyfunnel.errors import InvalidInput

PLAUSIBLE, ABSURD = 1e-6, 1e-9

FORK = """
import os
from privacyfunnel.drawing.randomness import Randomness
{before}
stream = {stream}
stream.words(1)
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, stream.words(4).tobytes())
    os._exit(0)
os.wait()
print("repeated" if os.read(reader, 32) == stream.words(4).tobytes() else "different")
"""

needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")


def counters(key: bytes, n: int) -> bytes:
    """AES_k(0), …, AES_k(n-1), block by block, without the counter mode."""
    block = Cipher(AES128(key), ECB()).encryptor()  # noqa: S305 -- the block cipher is what is wanted here
    return b"".join(block.update(i.to_bytes(16, "big")) for i in range(n))


def forked(stream: str, before: str = "") -> str:
    script = FORK.format(stream=stream, before=before)
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def bits_are_fair(words: NDArray[np.uint64]) -> float:
    """The p-value of "each of the 64 bits is one in half of the words", two-sided, over all bits at once."""
    ones = np.array([np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)) for bit in range(64)])
    z = (ones - len(words) / 2) / np.sqrt(len(words) / 4)
    return float(min(1.0, 64 * 2 * norm.sf(np.abs(z).max())))


def test_the_stream_is_the_block_cipher_of_the_counter():
    key = hashlib.sha256(b"privacyfunnel seed 7").digest()[:16]
    assert Randomness.seeded(7).words(2000).tobytes() == counters(key, 1000)


def test_the_block_cipher_is_the_one_of_the_standard():
    key, zero = bytes(16), "66e94bd4ef8a2c3b884cfa59ca342b2e"  # FIPS-197's cipher of zeros under a key of zeros
    assert counters(key, 1).hex() == zero
    assert Randomness.keyed(key).words(2).tobytes().hex() == zero


def test_the_stream_goes_on_where_it_stopped_whatever_the_portions():
    whole = Randomness.seeded(1).words(PIECE_BYTES)
    stream = Randomness.seeded(1)
    odd = np.empty((3, 5), dtype=np.uint8)
    stream.fill(odd)
    rest = np.empty(whole.nbytes - odd.nbytes, dtype=np.uint8)
    stream.fill(rest)
    assert odd.tobytes() + rest.tobytes() == whole.tobytes()


def test_two_secure_streams_differ():
    assert (Randomness.secure().words(1000) != Randomness.secure().words(1000)).all()


def test_a_secure_stream_never_repeats_a_word():
    stream = Randomness.secure()
    words = np.concatenate([stream.words(50_000), stream.spawn().words(50_000), stream.words(50_000)])
    assert len(np.unique(words)) == len(words)


def test_a_seeded_stream_repeats_and_says_that_it_is_not_secure():
    assert (Randomness.seeded(3).words(100) == Randomness.seeded(3).words(100)).all()
    assert (Randomness.seeded(3).words(100) != Randomness.seeded(4).words(100)).all()
    assert Randomness.seeded(3).seed == 3
    assert Randomness.secure().seed is None


def test_spawned_streams_repeat_with_the_seed_and_differ_from_each_other():
    def family() -> list[NDArray[np.uint64]]:
        parent = Randomness.seeded(5)
        first, second = parent.spawn(), parent.spawn()
        return [stream.words(100) for stream in (parent, first, second, first.spawn())]

    once, again = family(), family()
    assert all((a == b).all() for a, b in zip(once, again, strict=True))
    assert len(np.unique(once)) == 400
    assert Randomness.seeded(5).spawn().seed == 5
    assert Randomness.secure().spawn().seed is None


@needs_fork
def test_a_forked_child_does_not_repeat_its_parents_stream():
    assert forked("Randomness.secure()") == "different"


@needs_fork
def test_a_forked_child_is_noticed_even_under_a_process_number_used_before():
    assert forked("Randomness.secure()", before="os.getpid = lambda: 1") == "different"


@needs_fork
def test_a_forked_child_repeats_a_seeded_stream():
    assert forked("Randomness.seeded(1)") == "repeated"


def test_a_stream_cannot_be_pickled_and_so_not_repeated_in_another_process():
    with pytest.raises(TypeError):
        pickle.dumps(Randomness.secure())


def test_bits_and_bytes_are_fair_and_the_check_rejects_a_bias_of_one_percent():
    words = Randomness.seeded(1).words(10**6)
    assert chisquare(np.bincount(words.view(np.uint8), minlength=256)).pvalue > PLAUSIBLE
    assert bits_are_fair(words) > PLAUSIBLE
    words[: len(words) // 100] |= np.uint64(1 << 17)
    assert bits_are_fair(words) < ABSURD


@pytest.mark.parametrize("buffer", [np.zeros(4), np.zeros((4, 4), dtype=np.int64)[:, 1], np.frombuffer(bytes(8), "u8")])
def test_bits_are_not_written_where_they_make_no_sense(buffer: NDArray[np.float64]):
    with pytest.raises(InvalidInput):
        Randomness.secure().fill(buffer)


@pytest.mark.parametrize("size", [0, 15, 17, 32])
def test_a_key_of_another_length_is_an_error(size: int):
    with pytest.raises(InvalidInput, match="16 bytes"):
        Randomness.keyed(bytes(size))


def test_no_words_are_no_words():
    assert Randomness.secure().words(0).size == 0


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 100_003])
def test_a_permutation_holds_every_row_once(n: int):
    assert (np.sort(permutation(n, Randomness.secure())) == np.arange(n)).all()


def test_the_first_row_of_a_permutation_is_uniform():
    stream = Randomness.seeded(2)
    first = [permutation(37, stream)[0] for _ in range(40_000)]
    assert chisquare(np.bincount(first, minlength=37)).pvalue > PLAUSIBLE


def test_all_orders_are_equally_likely_and_a_careless_shuffle_is_rejected():
    def careless(n: int, rng: np.random.Generator) -> tuple[int, ...]:
        order = list(range(n))
        for i, j in enumerate(rng.integers(0, n, n)):  # swaps with any row, not with those still unsettled
            order[i], order[j] = order[j], order[i]
        return tuple(order)

    def evidence(orders: list[tuple[int, ...]]) -> float:
        seen = Counter(orders)
        return float(chisquare([*seen.values(), *[0] * (24 - len(seen))]).pvalue)

    stream, rng = Randomness.seeded(3), np.random.default_rng(9)
    assert evidence([tuple(permutation(4, stream).tolist()) for _ in range(40_000)]) > PLAUSIBLE
    assert evidence([careless(4, rng) for _ in range(40_000)]) < ABSURD


def test_a_word_that_would_favour_a_row_is_refused():
    zero = np.zeros(1, dtype=np.uint32)
    assert _shuffle(np.arange(3), 2, zero) == 2  # 2³² is no multiple of 3
    assert _shuffle(np.arange(4), 3, zero) == 2


def test_a_permutation_repeats_with_its_seed():
    assert (permutation(10**6, Randomness.seeded(1)) == permutation(10**6, Randomness.seeded(1))).all()
    assert (permutation(10**6, Randomness.seeded(1)) != permutation(10**6, Randomness.seeded(2))).any()


@pytest.mark.parametrize("n", [-1, 2**32 + 1])
def test_more_rows_than_words_can_order_are_an_error(n: int):
    with pytest.raises(InvalidInput):
        permutation(n, Randomness.secure())
