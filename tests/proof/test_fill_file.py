"""Files with filled columns: their noisy tables tell how much noise they have, and what is drawn follows from them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import privacyfunnel as pf
from checked_files import sealed
from filled_people import filled, kept, people
from privacyfunnel.distribution.column import OPEN, Column
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.model.columns import by_label, by_number, cells_of
from privacyfunnel.model.fitting import fit_fill
from privacyfunnel.proof.fill_file import OTHER_CHANCES, flaw_in_fill, least_noticed
from privacyfunnel.proof.not_proven import not_proven
from privacyfunnel.proof.table_noise import LARGER, OTHER_PEOPLE, SMALLER
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.fill import WEIGHT
from privacyfunnel.protocols.shrinking import in_parts, nearest_counts, shrunk, within_codes

KEPT = {"a": 3, "b": 5}
N = 2_000


def fitted(seed, epsilon=4.0, n=N):
    """A fill of three columns of made-up people, with fresh noise."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, size, n) for name, size in KEPT.items()}
    texts = [
        Column(name=name, kind="text", labels=tuple(f"{name}{k}" for k in range(size)))
        for name, size in (("c", 4), ("d", 30))
    ]
    ranges = Column(name="e", kind="bins", edges=(0.0, 10.0, 20.0, OPEN), labels=("0", "10", "20", None))
    counted = [*map(by_label, texts), by_number(ranges, 0, 4, False)]
    own = (codes["a"] + rng.integers(0, 2, n)) % 4, np.minimum(rng.geometric(0.2, n) - 1, 29)
    cells = {one.name: column for one, column in zip(counted, own, strict=False)}
    numbers = np.where(rng.random(n) < 0.1, np.nan, rng.exponential(12.0, n))
    place = np.where(np.isnan(numbers), 3, np.digitize(numbers, [10, 20]))
    cells["e"] = cells_of(counted[2], place, numbers)
    order = ("a", "b", "c", "d", "e")
    return fit_fill({k: (codes[k], KEPT[k]) for k in KEPT}, counted, cells, order, epsilon, 1e-6, 0.5, 2.0)


def flaw(fill):
    return flaw_in_fill(fill, N, KEPT)


def with_sigma(fill, sigma):
    """Other noise is stated, and all probabilities are made anew from the counts for this."""
    sizes = KEPT | {one.name: one.size for one in fill.filled}
    inside, alone, drawn = [], {}, []
    for one in fill.inside:
        counts, parts = one.counts.astype(float), one.parts.copy()
        out = np.r_[0 : one.ends[0], len(parts) - one.ends[1] : len(parts)]
        inner = np.delete(np.arange(len(counts)), out)
        counts[out], counts[inner] = 0, nearest_counts(counts[inner], N)
        widths = (parts[:, 2] - parts[:, 1] + 1).astype(float)
        parts[:, WEIGHT] = within_codes(parts[:, 0], widths, counts[: len(parts)])
        alone[one.name] = np.bincount(one.codes(sizes[one.name]), counts)
        inside.append(replace(one, parts=parts))
    for one in fill.filled:
        table = one.counts.astype(float).reshape([sizes[name] for name in (*one.parents, one.name)])
        drawn.append(replace(one, weights=in_parts(shrunk(table, alone[one.name], sigma**2, N))))
    return replace(fill, filled=tuple(drawn), inside=tuple(inside), noise=replace(fill.noise, sigma=sigma))


def test_of_many_honest_fits_none_is_refused():
    assert [flaw(fitted(seed, (0.2, 1.0, 4.0, 20.0)[seed % 4])) for seed in range(200)] == [None] * 200


@pytest.mark.parametrize("times", [30, 1_300, None])
def test_more_noise_than_was_added_is_not_believed_even_if_all_probabilities_follow(times):
    for seed in range(5):
        fill = fitted(seed)
        assert flaw(with_sigma(fill, fill.noise.sigma)) is None
        assert flaw(with_sigma(fill, fill.noise.sigma * times if times else 1e9)) == SMALLER


def test_less_noise_than_was_added_is_not_believed_either():
    fill = fitted(1, 1.0)
    assert flaw(with_sigma(fill, fill.noise.sigma / 20)) in (LARGER, OTHER_PEOPLE)


def test_tables_of_other_people_are_not_believed():
    fill = fitted(2)
    for place in range(len(fill.filled)):
        own = list(fill.filled)
        own[place] = replace(own[place], counts=own[place].counts * 3)
        assert flaw(replace(fill, filled=tuple(own))) == OTHER_PEOPLE
    (first, *others) = fill.inside
    turned = replace(first, counts=np.roll(first.counts, 1) * 1)
    counts = first.counts.copy()
    counts[0] -= 5 * N
    counts[1] += 5 * N
    assert flaw(replace(fill, inside=(replace(first, counts=counts), *others))) == LARGER
    assert flaw(replace(fill, inside=(turned, *others))) is not None


def test_probabilities_that_do_not_follow_from_the_counts_are_found():
    fill = fitted(3)
    for place, one in enumerate(fill.filled):
        weights = one.weights.copy()
        most = int(weights[0].argmax())
        weights[0, most] -= UNIT // 1_000
        weights[0, most - 1] += UNIT // 1_000
        own = [*fill.filled[:place], replace(one, weights=weights), *fill.filled[place + 1 :]]
        assert flaw(replace(fill, filled=tuple(own))) == OTHER_CHANCES
    numbers = fill.inside[2]
    assert flaw(replace(fill, inside=(*fill.inside[:2], replace(numbers, ends=(9, numbers.ends[1]))))) == OTHER_CHANCES


def test_another_processors_rounding_is_no_flaw():
    fill = fitted(4)
    one = fill.filled[0]
    weights = one.weights.copy()
    largest = int(weights[0].argmax())
    weights[0, largest] -= 100
    weights[0, largest - 1] += 1
    weights[0, largest] += 99
    assert flaw(replace(fill, filled=(replace(one, weights=weights), *fill.filled[1:]))) is None


@pytest.fixture(scope="module")
def content(noise_with_seed):
    table = people(1_500)
    with noise_with_seed(3):
        return json.loads(to_text(filled(table, kept(table))))


def forged(content, **noise):
    other = json.loads(json.dumps(content))
    other["chain"][1]["noise"] |= noise
    return other


def test_a_file_whose_share_of_the_privacy_is_restated_is_broken(content):
    honest = from_text(sealed(content))
    assert pf.certify(honest).holds
    sigma = content["chain"][1]["noise"]["sigma"]
    for times in ({"sigma": 1_300 * sigma, "epsilon": 0.005, "choosing": 5e-4}, {"sigma": 1e9}):
        certificate = pf.certify(from_text(sealed(forged(content, **times))))
        assert not certificate.holds
        assert certificate.reason == SMALLER


def test_fewer_tables_than_there_are_and_counts_of_another_form_are_refused(content):
    with pytest.raises(InvalidProtocol, match="as many tables"):
        from_text(sealed(forged(content, tables=1)))
    for edit in ("filled", "inside"):
        other = forged(content)
        other["chain"][1][edit][0]["counts"].append(other["chain"][1][edit][0]["counts"][0])
        with pytest.raises(InvalidProtocol, match="do not fit"):
            from_text(sealed(other))


@pytest.mark.parametrize("times", [6, 12, 30])
def test_noise_that_an_audit_says_to_notice_is_noticed(times):
    claimed = 0
    for seed in range(20):
        fill = fitted(seed)
        stated = with_sigma(fill, fill.noise.sigma * times)
        if least_noticed(stated, N, KEPT) > fill.noise.sigma:
            claimed += 1
            assert flaw(stated) == SMALLER
    assert claimed or times < 30


def test_an_audit_says_below_which_size_noise_would_be_noticed(content):
    protocol = from_text(sealed(content))
    least = least_noticed(protocol.fill, protocol.people, {column.name: len(column) for column in protocol.columns})
    assert 0 < least < protocol.fill.noise.sigma
    assert f"less than σ = {least:.2g}" in not_proven(protocol)[1]
