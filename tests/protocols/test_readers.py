"""What readers get who count released rows: the error of single shares is that of real draws."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.readers import points, reader_words, share_errors

rng = np.random.default_rng(5)
JOINT = pf.Joint(rng.integers(1, 90, (2, 3, 4)), attributes=["sex", "town"])
FAITHFUL = pf.optimise(JOINT, pf.LIP(0.2), objective="faithful")


def errors_by_the_formula(protocol):
    """The standard error of every single share, by column."""
    Q = protocol.channel
    e = [[Q[JOINT.codes[:, j] == a].sum(axis=0) for a in range(size)] for j, size in enumerate((3, 4))]
    return [np.sqrt([(JOINT.p_x * row * (1 - row)).sum() / JOINT.total for row in rows]) for rows in e]


def test_errors_are_the_median_over_all_single_shares_and_the_largest_by_the_formula():
    by_column = errors_by_the_formula(FAITHFUL)
    found = share_errors(FAITHFUL, JOINT)
    assert found.typical == pytest.approx(np.median(np.concatenate(by_column)), rel=1e-12)
    assert found.worst == pytest.approx(max(map(max, by_column)), rel=1e-12)
    assert found.worst > found.typical


@pytest.mark.parametrize(("heavy", "changed"), [("sex", "town"), ("town", "sex")])
def test_the_column_that_is_changed_most_is_named(heavy, changed):
    protocol = pf.optimise(JOINT, pf.LIP(0.2), objective="faithful", weights={heavy: 50.0})
    sex, town = errors_by_the_formula(protocol)
    assert changed == ("town" if town.max() > sex.max() else "sex")
    found = share_errors(protocol, JOINT)
    assert found.column == changed
    assert f", those of {changed} within ± {points(found.worst)}; " in reader_words(protocol, JOINT)


def test_of_a_single_column_nothing_is_said_of_others():
    joint = JOINT.over(["town"])
    protocol = pf.optimise(joint, pf.LIP(0.05), objective="faithful")
    found = share_errors(protocol, joint)
    told = f"shares are typically within ± {points(found.typical)} points of the original's, all within"
    assert f"{told} ± {points(found.worst)}; " in reader_words(protocol, joint)


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
    assert np.median(spread) == pytest.approx(share_errors(FAITHFUL, JOINT).typical, rel=0.05)
    assert max(spread) == pytest.approx(share_errors(FAITHFUL, JOINT).worst, rel=0.05)


def test_nothing_is_claimed_where_rows_cannot_be_counted_or_their_number_is_not_known():
    assert share_errors(pf.optimise(JOINT, pf.LIP(0.2)), JOINT) is None
    assert reader_words(pf.optimise(JOINT, pf.LIP(0.2)), JOINT) is None
    known = pf.Joint(JOINT.p.reshape(2, 3, 4), attributes=["sex", "town"])
    assert share_errors(FAITHFUL, known) is None
    assert reader_words(FAITHFUL, known).startswith("readers can count rows as they stand; ")


def test_the_line_for_people_says_what_was_measured():
    told = reader_words(FAITHFUL, JOINT)
    assert f"within ± {points(share_errors(FAITHFUL, JOINT).typical)} points of the original's" in told
    assert f"; {int(100 * FAITHFUL.likeness.cells_unchanged)}% of all cells stay as they are" in told
    assert "belief" not in told  # of whom it would be true stands with the promise
