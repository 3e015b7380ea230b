"""Joint: exact weights, the support of X, labels, and every way to get it wrong."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidJoint, PrivacyFunnelError
from strategies import arrays, joints


def proportions(rows):
    """The entries as exact shares of their sum."""
    cells = [[Fraction(cell) for cell in row] for row in np.asarray(rows).tolist()]
    whole = sum(map(sum, cells))
    return [[cell / whole for cell in row] for row in cells]


def seen(array):
    flat = array.reshape(len(array), -1)
    return flat[:, flat.sum(axis=0) > 0]


# --- exactness ---------------------------------------------------------------------------------------


@given(st.data())
def test_counts_are_kept_to_the_last_person(data):
    n_s, n_x = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    cells = data.draw(st.lists(st.integers(1, 2**53), min_size=n_s * n_x, max_size=n_s * n_x))
    counts = np.array(cells).reshape(n_s, n_x)
    joint = pf.Joint(counts)
    assert joint.weights.tolist() == counts.tolist()
    assert joint.total == sum(cells)
    assert joint.counted


@pytest.mark.parametrize("largest", [2**31, 2**53 + 1, 2**61, 2**62 - 1, 2**63 - 1])
def test_huge_counts_do_not_overflow(largest):
    counts = np.full((2, 3), largest)
    joint = pf.Joint(counts)
    assert joint.total == 6 * largest
    assert joint.weights.tolist() == counts.tolist()
    assert joint.p_x == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64, np.float32, np.float64, bool])
def test_the_kind_of_number_does_not_matter(dtype):
    joint = pf.Joint(np.array([[1, 0, 1], [1, 1, 0]], dtype=dtype))
    assert joint.weights.tolist() == [[1, 0, 1], [1, 1, 0]]
    assert joint.counted


@given(arrays())
def test_weights_are_exactly_proportional_to_the_array(array):
    assert proportions(pf.Joint(array).weights) == proportions(seen(array))


@given(arrays(skewed=True))
def test_probabilities_over_twelve_orders_of_magnitude_are_exact(array):
    joint = pf.Joint(array)
    assert proportions(joint.weights) == proportions(seen(array))


@pytest.mark.parametrize(
    "array",
    [
        [[0.1, 0.2], [0.3, 0.4]],
        [[1e-280, 1.0], [1.0, 1.0]],
        [[5e-324, 1.0], [1.0, 1.0]],
        [[1 / 3, math.pi], [math.e, 1e-17]],
        [[0.5, 2.0**-60], [2.0**-70, 0.25]],
    ],
)
def test_floats_are_the_fractions_they_are(array):
    joint = pf.Joint(array)
    assert proportions(joint.weights) == proportions(array)


@pytest.mark.parametrize("scale", [2.0**52, 2.0**53, 2.0**54, 2.0**60, 2.0**70, 2.0**300])
def test_whole_floats_are_counts_however_large(scale):
    joint = pf.Joint(np.array([[1.0, 2.0], [3.0, 5.0]]) * scale)
    assert joint.counted
    assert joint.total == 11 * int(scale)
    assert proportions(joint.weights) == proportions([[1, 2], [3, 5]])


def test_floats_whose_sum_overflows_are_normalised_or_refused_by_name():
    try:
        joint = pf.Joint(np.full((2, 2), 1e308))
    except InvalidJoint:
        return
    assert joint.p.tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_whole_floats_are_counts_and_fractions_are_probabilities():
    assert pf.Joint([[2.0, 3.0], [4.0, 1.0]]).counted
    assert not pf.Joint([[0.25, 0.25], [0.25, 0.25]]).counted
    assert pf.Joint([[2.0, 3.0], [4.0, 2.0]]).weights.tolist() == [[2, 3], [4, 2]]


@given(joints(), st.integers(1, 1000))
def test_the_distribution_does_not_depend_on_the_scale(joint, scale):
    scaled = pf.Joint.from_support(np.array(joint.weights.tolist(), dtype=float) * scale, joint.values)
    assert scaled.p == pytest.approx(joint.p, rel=1e-14)


# --- conditionals ------------------------------------------------------------------------------------


@given(joints())
def test_float_probabilities_are_the_exact_ones_to_the_last_digits(joint):
    exact = proportions(joint.weights)
    assert joint.p == pytest.approx(np.array([[float(cell) for cell in row] for row in exact]), rel=1e-14)
    assert joint.p_s == pytest.approx([float(sum(row)) for row in exact], rel=1e-14)
    assert joint.p_x == pytest.approx([float(sum(column)) for column in zip(*exact, strict=True)], rel=1e-14)


@given(joints())
def test_conditionals_are_what_they_say(joint):
    assert joint.p_s_given_x.sum(axis=0) == pytest.approx(np.ones(joint.n_x))
    assert joint.p_x_given_s.sum(axis=1) == pytest.approx(np.ones(joint.n_s))
    assert joint.p_s_given_x * joint.p_x == pytest.approx(joint.p)
    assert joint.p_x_given_s * joint.p_s[:, None] == pytest.approx(joint.p)
    assert joint.p.sum() == pytest.approx(1)
    assert joint.weights.shape == joint.p.shape == (joint.n_s, joint.n_x)


@given(joints())
def test_every_value_kept_occurs(joint):
    assert (joint.p_x > 0).all()
    assert (joint.p_s > 0).all()


@pytest.mark.parametrize("name", ["weights", "values", "p", "p_s", "p_x", "p_s_given_x", "p_x_given_s"])
def test_a_joint_cannot_be_changed(name):
    array = getattr(pf.Joint([[3, 1], [1, 3]]), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 7


@pytest.mark.parametrize(
    ("values", "kind", "labels"),
    [([True, False], "boolean", (False, True)), ([2, 1], "integer", (1, 2)), ([0.5, 2.0], "number", (0.5, 2.0))],
)
def test_values_given_as_objects_keep_their_kind(values, kind, labels):
    listed = pf.Joint.from_support([[3, 1], [1, 3]], np.array([[value] for value in values], dtype=object))
    assert (listed.columns[0].kind, listed.columns[0].labels) == (kind, labels)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_refused_in_one_line(bad):
    with pytest.raises(InvalidJoint, match="not a finite number") as caught:
        pf.Joint.from_support([[3, 1], [1, 3]], np.array([[bad], [1.0]]))
    assert "\n" not in str(caught.value)


def test_changing_the_array_afterwards_changes_nothing():
    array, values = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([[0], [1]])
    joint, listed = pf.Joint(array), pf.Joint.from_support(array, values)
    array[:] = 9
    values[:] = 9
    assert joint.weights.tolist() == listed.weights.tolist() == [[3, 1], [1, 3]]
    assert listed.values.tolist() == [[0], [1]]
    assert array.flags.writeable
    assert values.flags.writeable


# --- the support of X ---------------------------------------------------------------------------------


def test_the_support_is_listed_in_c_order():
    array = np.zeros((2, 2, 3), dtype=int)
    array[0, 1, 0], array[1, 0, 2], array[1, 1, 2] = 5, 7, 2
    joint = pf.Joint(array, attributes=["a", "b"])
    assert joint.values.tolist() == [[0, 2], [1, 0], [1, 2]]
    assert joint.weights.tolist() == [[0, 5, 0], [7, 0, 2]]
    assert joint.attributes == ("a", "b")


@given(st.data())
def test_values_point_back_into_the_array(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    cells = st.lists(st.integers(0, 2), min_size=2 * math.prod(shape), max_size=2 * math.prod(shape))
    array = np.array(data.draw(cells)).reshape(2, *shape)
    array[:, *([0] * len(shape))] = 1
    joint = pf.Joint(array)
    assert joint.values.tolist() == np.argwhere(array.sum(axis=0) > 0).tolist()
    assert joint.weights.tolist() == [[int(plane[tuple(v)]) for v in joint.values] for plane in array]


def test_ten_attributes_with_a_billion_cells_and_three_thousand_seen_are_fine():
    rng = np.random.default_rng(0)
    sizes = [8] * 9 + [7]
    assert math.prod(sizes) > 9e8
    values = np.unique(np.stack([rng.integers(0, k, 3_000) for k in sizes], axis=1), axis=0)
    counts = rng.integers(0, 5, (3, len(values)))
    counts[0, counts.sum(axis=0) == 0] = 1
    joint = pf.Joint.from_support(counts, values, attributes=[f"a{j}" for j in range(10)])
    assert joint.n_x == len(values) > 2_900
    assert joint.values.tolist() == values.tolist()
    assert joint.weights.tolist() == counts.tolist()
    assert joint.codes.max(axis=0).tolist() == [k - 1 for k in sizes]


@given(joints())
def test_listing_the_support_gives_the_same_joint(joint):
    listed = pf.Joint.from_support(joint.weights if joint.weights.dtype != object else joint.p, joint.values)
    assert listed.p == pytest.approx(joint.p, rel=1e-15)
    assert listed.values.tolist() == joint.values.tolist()


def test_combinations_that_never_occur_are_dropped_from_a_listing():
    joint = pf.Joint.from_support([[1, 0, 2], [1, 0, 0]], [["a", "x"], ["a", "y"], ["b", "x"]])
    assert joint.values.tolist() == [["a", "x"], ["b", "x"]]
    assert joint.codes.tolist() == [[0, 0], [1, 0]]


def test_one_attribute_may_be_listed_flat():
    assert pf.Joint.from_support([[1, 2], [2, 1]], ["young", "old"]).values.tolist() == [["young"], ["old"]]


# --- labels ------------------------------------------------------------------------------------------


def test_labels_default_to_numbers_and_can_be_given():
    plain = pf.Joint(np.ones((2, 3, 2)))
    assert plain.attributes == ("X1", "X2")
    assert plain.secret_values == (0, 1)
    named = pf.Joint(
        np.ones((2, 3, 2)), attributes=["age", "sex"], secret="diagnosis", secret_values=["healthy", "ill"]
    )
    assert named.attributes == ("age", "sex")
    assert (named.secret, named.secret_values) == ("diagnosis", ("healthy", "ill"))
    assert "diagnosis" in repr(named)
    assert "ill" not in repr(named)


# --- what is refused --------------------------------------------------------------------------------

OK = [[1, 2], [3, 4]]
BAD_ARRAYS = {
    "negative count": [[1, -1], [1, 1]],
    "negative probability": [[0.5, -0.1], [0.3, 0.3]],
    "tiny negative": [[0.5, -1e-300], [0.3, 0.3]],
    "NaN": [[math.nan, 1], [1, 1]],
    "infinite": [[math.inf, 1], [1, 1]],
    "minus infinite": [[-math.inf, 1], [1, 1]],
    "all zero": [[0, 0], [0, 0]],
    "all zero floats": [[0.0, 0.0], [0.0, 0.0]],
    "a scalar": 3,
    "one dimension": [1, 2, 3],
    "empty": [],
    "no values": np.empty((2, 0)),
    "no secrets": np.empty((0, 2)),
    "nothing at all": np.empty((0, 0)),
    "no attribute values": np.empty((2, 3, 0)),
    "ragged": [[1, 2], [3]],
    "ragged deep": [[[1], [2]], [[3], [4, 5]]],
    "a string": "counts",
    "strings": [["1", "2"], ["3", "4"]],
    "bytes": [[b"1", b"2"], [b"3", b"4"]],
    "None": None,
    "a None inside": [[1, None], [2, 3]],
    "complex": [[1j, 1], [1, 1]],
    "dates": np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
    "a dict": {"a": 1},
    "a set": {1, 2},
    "fractions": [[Fraction(1, 2), Fraction(1, 2)]],
    "integers beyond 64 bits": [[2**70, 1], [1, 1]],
    "unsigned beyond 62 bits": np.array([[2**63, 1], [1, 1]], dtype=np.uint64),
    "an empty secret class": [[1, 2], [0, 0]],
    "an empty first secret class": [[0.0, 0.0], [0.5, 0.5]],
    "a record array": np.zeros((2, 2), dtype=[("a", int)]),
}


@pytest.mark.parametrize("array", BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())
def test_a_bad_array_is_an_invalid_joint_and_nothing_else(array):
    with pytest.raises(InvalidJoint) as caught:
        pf.Joint(array)
    assert type(caught.value) is InvalidJoint
    assert len(str(caught.value)) > 10


@pytest.mark.parametrize("array", BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())
def test_bad_weights_of_a_listing_are_an_invalid_joint_and_nothing_else(array):
    with pytest.raises(InvalidJoint):
        pf.Joint.from_support(array, [[0], [1]])


BAD_LABELS = {
    "too many names": {"attributes": ["a", "b"]},
    "no names": {"attributes": []},
    "names that are no list": {"attributes": 5},
    "a name that cannot be hashed": {"attributes": [["a"]]},
    "a name that is no string": {"attributes": [1]},
    "too few secrets": {"secret_values": ["a"]},
    "too many secrets": {"secret_values": ["a", "b", "c"]},
    "one secret twice": {"secret_values": ["a", "a"]},
    "secrets that are no list": {"secret_values": 5},
    "secrets that cannot be hashed": {"secret_values": [["a"], ["b"]]},
}


@pytest.mark.parametrize("labels", BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_bad_labels_are_an_invalid_joint_and_nothing_else(labels):
    with pytest.raises(InvalidJoint):
        pf.Joint(OK, **labels)
    with pytest.raises(InvalidJoint):
        pf.Joint.from_support(OK, [[0], [1]], **labels)


def test_two_attributes_of_one_name_are_refused():
    with pytest.raises(InvalidJoint):
        pf.Joint(np.ones((2, 2, 2)), attributes=["age", "age"])


BAD_VALUES = {
    "too few": [[0]],
    "too many": [[0], [1], [2]],
    "twice the same": [["a", 1], ["a", 1]],
    "three dimensions": np.zeros((2, 1, 1)),
    "a scalar": 5,
    "None": None,
    "ragged": [[1], [1, 2]],
    "no attributes": np.empty((2, 0)),
}


@pytest.mark.parametrize("values", BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_bad_values_of_a_listing_are_an_invalid_joint_and_nothing_else(values):
    with pytest.raises(InvalidJoint):
        pf.Joint.from_support(OK, values)


def test_values_that_cannot_be_ordered_are_listed_or_refused_by_name():
    values = np.array([["a", 1], ["b", None]], dtype=object)
    try:
        joint = pf.Joint.from_support(OK, values)
    except InvalidJoint:
        return
    assert joint.n_x == 2


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3)),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=9,
    )
)
def test_whatever_is_given_comes_back_as_a_joint_or_as_our_own_error(thing):
    try:
        joint = pf.Joint(thing)
    except InvalidJoint:
        return
    assert joint.p.sum() == pytest.approx(1)


def test_the_error_is_also_a_value_error_of_our_own_tree():
    assert issubclass(InvalidJoint, InvalidInput)
    assert issubclass(InvalidJoint, PrivacyFunnelError)
    assert issubclass(InvalidJoint, ValueError)


def test_errors_do_not_quote_the_labels_of_the_secret():
    with pytest.raises(InvalidJoint) as caught:
        pf.Joint([[1, 1], [0, 0]], secret_values=["well", "tuberculosis"])
    assert "tuberculosis" not in str(caught.value)


def test_a_value_too_rare_for_float64_is_refused_and_one_just_frequent_enough_is_not():
    with pytest.raises(InvalidJoint, match="a value has probability below 1e-290"):
        pf.Joint([[1e-300, 1.0], [1e-300, 1.0]])
    assert pf.Joint([[1e-280, 1.0], [1e-280, 1.0]]).n_x == 2
