"""What readers get who count released rows: the error of single shares is that of real draws."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.readers import points, reader_words, typical_error

rng = np.random.default_rng(5)
JOINT = pf.Joint(rng.integers(1, 90, (2, 3, 4)), attributes=["sex", "town"])
FAITHFUL = pf.optimise(JOINT, pf.LIP(0.2), objective="faithful")


def test_the_typical_error_is_the_median_over_all_single_shares_by_the_formula():
    Q, errors = FAITHFUL.channel, []
    for j, size in enumerate((3, 4)):
        for a in range(size):
            e = Q[JOINT.codes[:, j] == a].sum(axis=0)
            errors.append(np.sqrt((JOINT.p_x * e * (1 - e)).sum() / JOINT.total))
    assert typical_error(FAITHFUL, JOINT) == pytest.approx(np.median(errors), rel=1e-12)


def test_counted_shares_of_many_releases_are_off_as_much_as_that():
    draws = 4000
    generator = np.random.default_rng(1)
    counts = JOINT.weights.sum(axis=0).astype(int)
    released = sum(
        generator.multinomial(n, q / q.sum(), draws) for n, q in zip(counts, FAITHFUL.channel.T, strict=True)
    )
    spread = [
        (released[:, JOINT.codes[:, j] == a].sum(axis=1) / JOINT.total).std() for j in range(2) for a in range(3 + j)
    ]
    assert np.median(spread) == pytest.approx(typical_error(FAITHFUL, JOINT), rel=0.05)


def test_nothing_is_claimed_where_rows_cannot_be_counted_or_their_number_is_not_known():
    assert typical_error(pf.optimise(JOINT, pf.LIP(0.2)), JOINT) is None
    assert reader_words(pf.optimise(JOINT, pf.LIP(0.2)), JOINT) is None
    known = pf.Joint(JOINT.p.reshape(2, 3, 4), attributes=["sex", "town"])
    assert typical_error(FAITHFUL, known) is None
    assert reader_words(FAITHFUL, known).startswith("readers can count rows as they stand; ")


def test_the_line_for_people_says_what_was_measured():
    told = reader_words(FAITHFUL, JOINT)
    assert f"within ± {points(typical_error(FAITHFUL, JOINT))} points of the original's" in told
    assert f"; {int(100 * FAITHFUL.likeness.cells_unchanged)}% of all cells stay as they are; " in told
    assert told.endswith("nobody's belief moves by more than ×1.23")


def test_a_promise_about_growing_beliefs_says_so():
    assert "belief grows" in reader_words(pf.optimise(JOINT, pf.PML(0.5), objective="faithful"), JOINT)
