"""Who did not change keeps their row, others are followed up, and everything together keeps the promise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import brute
import history_brute
import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.proof.rows_kept import rows_kept
from privacyfunnel.protocols.rows_before import RowsBefore

pytestmark = pytest.mark.usefixtures("compiled_loops")

COVERS = [0.0, 0.5, 3.0, math.inf]


def tables(most=3):
    """Counts of (secret, what people were, what they are), some of them 0."""
    shape = st.tuples(st.integers(2, 3), st.integers(2, most)).map(lambda sizes: (sizes[0], sizes[1], sizes[1]))
    return shape.flatmap(lambda sizes: arrays(np.int64, sizes, elements=st.integers(0, 20)))


def joint_of(counts):
    """Unless some value of the secret, or of what people were, is nobody's."""
    assume(counts.sum(axis=(1, 2)).all() and counts.sum(axis=(0, 2)).all() and counts.sum(axis=(0, 1)).all())
    return pf.Joint(counts, attributes=["town", "town now"])


def followed(joint, kind, first, more, cover, objective="information"):
    before = pf.optimise(joint.over(["town"]), kind(first), objective=objective)
    return pf.optimise(joint, kind(first + more), after=before, keep_rows=True, cover=cover)


def kept_by_hand(joint, protocol):
    """{unchanged: (people, those whose row says what it said)}, enumerated in fractions."""
    weights, columns = brute.fractions(joint.weights), protocol.by_history.columns
    found = {True: [Fraction(0), Fraction(0)], False: [Fraction(0), Fraction(0)]}
    block = protocol.before.block
    for x, values in enumerate(history_brute.people(joint)):
        own = found[values["town"] == values["town now"]]
        people = sum(row[x] for row in weights)
        own[0] += people
        for history, probability in history_brute.draws(protocol, values).items():
            (was,) = block.values[block.labels[history[0]]].tolist()
            row = [
                column.labels[code] for column, code in zip(columns, protocol.by_history.codes[history[1]], strict=True)
            ]
            own[1] += people * probability * (row == [was, was])
    return found


def check(joint, protocol, cover):
    assert brute.keeps(protocol.notion, history_brute.lifts(joint, protocol))
    assert pf.certify(protocol, joint).holds
    found, told = kept_by_hand(joint, protocol), rows_kept(protocol, joint)
    (same, same_kept), (changed, changed_kept) = found[True], found[False]
    assert told.changed == changed / (same + changed)
    assert told.of_unchanged == (same_kept / same if same else 1)
    assert told.of_changed == (changed_kept / changed if changed else 1)
    possible = (RowsBefore.of_follow_up(protocol).row >= 0).all()
    if cover == 0 and possible:
        assert same - same_kept <= same * Fraction(1, 10**8)  # what rounding may leave
    if cover < math.inf and possible:
        assert same - same_kept <= cover * (changed - changed_kept) + (same + changed) * Fraction(1, 10**6)


@settings(max_examples=60)
@given(tables(), st.sampled_from([pf.LIP, pf.LDP]), st.floats(0.02, 0.6), st.floats(0.0, 0.8), st.sampled_from(COVERS))
def test_everything_together_keeps_the_promise_in_fractions(counts, kind, first, more, cover):
    joint = joint_of(counts)
    check(joint, followed(joint, kind, first, more, cover), cover)


@pytest.mark.long
@settings(max_examples=600)
@given(tables(2), st.sampled_from([pf.LIP, pf.LDP, pf.PML]), st.floats(0.02, 1.0), st.floats(0.0, 1.0),
       st.sampled_from(COVERS), st.sampled_from(["information", "faithful"]))  # fmt: skip
def test_random_histories_with_every_cover_keep_the_promise_in_fractions(counts, kind, first, more, cover, objective):
    joint = joint_of(counts)
    check(joint, followed(joint, kind, first, more, cover, objective), cover)


def test_changes_that_have_nothing_to_do_with_the_secret_are_all_followed_up_without_a_cover():
    moves = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    were = np.array([[40, 20, 60], [20, 50, 30]])
    joint = pf.Joint((were[:, :, None] * moves * 10).round().astype(int), attributes=["town", "town now"])
    protocol = followed(joint, pf.LIP, 0.1, 0.05, cover=0)
    found = rows_kept(protocol, joint)
    assert found.of_unchanged == 1
    assert found.of_changed < Fraction(1, 10**6)
    assert pf.certify(protocol, joint).level <= 0.15


def test_where_only_the_ill_change_they_are_covered_by_others_or_keep_their_row():
    """The counterexample of docs/theory.md: X uniform on two values, the well never change, the ill always do."""
    counts = np.array([[[50, 0], [0, 50]], [[0, 50], [50, 0]]])
    joint = pf.Joint(counts, attributes=["town", "town now"])
    alone = rows_kept(followed(joint, pf.LIP, 0.1, 0.2, cover=0), joint)
    assert (alone.of_unchanged, alone.of_changed) == (1, 1)  # nobody is followed up
    protocol = followed(joint, pf.LIP, 0.1, 0.2, cover=math.inf)
    covered = rows_kept(protocol, joint)
    # If all of the ill are followed up, who keeps their row is well: so all of the well are, too, by one of two
    # outputs after which the share of the ill is e^-0.3 of what it was, or as far above it; the first is written as the
    # row before.
    assert float(covered.of_changed) == pytest.approx(math.exp(-0.3) / 2, abs=1e-6)
    assert float(covered.of_unchanged) == pytest.approx(1 - math.exp(-0.3) / 2, abs=1e-6)
    assert pf.certify(protocol, joint).level <= 0.3


def test_a_promise_that_leaves_nothing_is_kept_by_everybody_keeping_their_row():
    counts = np.random.default_rng(3).integers(1, 30, size=(2, 3, 3))
    joint = pf.Joint(counts, attributes=["town", "town now"])
    before = pf.optimise(joint.over(["town"]), pf.LIP(0.2))
    level = pf.certify(before, joint.over(["town"])).level
    found = rows_kept(pf.optimise(joint, pf.LIP(level), after=before, keep_rows=True, cover=0), joint)
    assert found.of_unchanged == 1


def test_a_year_later_the_row_before_is_that_of_the_follow_up():
    rng = np.random.default_rng(8)
    counts = rng.integers(1, 9, size=(2, 2, 2, 2)) + 40 * np.eye(2, dtype=int)[None, :, :, None] * np.eye(2, dtype=int)
    joint = pf.Joint(counts, attributes=["town", "town now", "town now 2"])
    first = pf.optimise(joint.over(["town"]), pf.LIP(0.1))
    second = pf.optimise(joint.over(["town", "town now"]), pf.LIP(0.3), after=first, keep_rows=True)
    third = pf.optimise(joint, pf.LIP(0.6), after=second, keep_rows=True)
    rows = RowsBefore.of_follow_up(third)
    assert rows.unchanged.tolist() == [bool(row[1] == row[2]) for row in joint.values.tolist()]
    written = joint.values[rows.row].tolist()
    before = [second.by_history.codes[h[1]].tolist() for h in third.by_history.histories.tolist()]
    assert [row[:2] for row in written] == before
    assert all(row[1] == row[2] for row in written)
    assert brute.keeps(third.notion, history_brute.lifts(joint, third))
    assert rows_kept(third, joint).of_unchanged > Fraction(1, 2)


JOINT = pf.Joint(np.random.default_rng(1).integers(1, 20, size=(2, 3, 3)), attributes=["town", "town now"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"objective": "faithful", "keep_rows": True}, "leave out faithful"),
        ({"cover": 1.0}, "with keep_rows"),
        ({"cover": -1.0, "keep_rows": True}, "with keep_rows"),
        ({"cover": math.nan, "keep_rows": True}, "with keep_rows"),
        ({"keep_rows": True, "after": None}, "needs after"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_in_a_line(asked, message):
    before = pf.optimise(JOINT.over(["town"]), pf.LIP(0.3))
    with pytest.raises(InvalidInput, match=message):
        pf.optimise(JOINT, pf.LIP(0.8), **{"after": before, **asked})


def test_rows_can_stay_only_where_columns_are_those_of_then_and_of_today():
    before = pf.optimise(JOINT.over(["town"]), pf.LIP(0.3))
    other = pf.Joint(JOINT.weights.reshape(2, 3, 3), attributes=["town", "height"])
    with pytest.raises(InvalidInput, match="column 'height' is neither"):
        pf.optimise(other, pf.LIP(0.8), after=before, keep_rows=True)
    with pytest.raises(InvalidInput, match="no column of today's"):
        pf.optimise(JOINT.over(["town"]), pf.LIP(0.8), after=before, keep_rows=True)
    with pytest.raises(InvalidPromise, match="no follow-up takes that back"):
        pf.optimise(JOINT, pf.LIP(0.01), after=before, keep_rows=True)
