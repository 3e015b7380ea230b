"""The rule for rare combinations: most columns shared, then nearest, then rarest, then first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacyfunnel.distribution import nearest as module
from privacyfunnel.distribution.column import Column, bin_labels
from privacyfunnel.distribution.nearest import nearest

SEX = Column(name="sex", kind="text", labels=("f", "m", "x"))
AGE = Column(name="age", kind="bins", edges=(0, 20, 40, 60, 80), labels=(*bin_labels([0, 20, 40, 60, 80]), None))
TOWN = Column(name="town", kind="text", labels=("a", "b", "c", "d"))
COLUMNS = (SEX, AGE, TOWN)


def by_hand(code, among):
    """The same in plain Python: a key for each, the first of the best."""

    def key(other):
        shared = sum(a == b for a, b in zip(code, other, strict=True))
        ages = code[1] != other[1] and code[1] < 4 and other[1] < 4
        alike = sum(one[j] == other[j] for one in among for j in range(3))
        return shared, 3 - abs(code[1] - other[1]) if ages else 0, -alike

    return max(range(len(among)), key=lambda k: (key(among[k]), -k))


codes = st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 3))


@given(st.lists(codes, min_size=1, max_size=6), st.lists(codes, min_size=1, max_size=8, unique=True))
def test_it_is_the_one_that_shares_most_then_is_nearest_then_rarest_then_first(rare, among):
    found = nearest(np.array(rare), np.array(among), COLUMNS)
    assert found.tolist() == [by_hand(code, among) for code in rare]


def test_what_is_listed_is_nearest_to_itself():
    among = np.array([[0, 0, 0], [1, 2, 3], [2, 4, 1]])
    assert nearest(among, among, COLUMNS).tolist() == [0, 1, 2]


def test_many_are_compared_in_parts_with_the_same_result(monkeypatch):
    among = np.array([[0, 1, 0], [1, 2, 3], [2, 4, 1]])
    rare = np.array([[i % 3, i % 5, i % 4] for i in range(50)])
    whole = nearest(rare, among, COLUMNS)
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 7)
    assert nearest(rare, among, COLUMNS).tolist() == whole.tolist()
