"""The order of elimination, and whether its cost is what was planned."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from scipy.sparse.linalg import splu

from privacyfunnel.numeric import elimination as module
from privacyfunnel.numeric.elimination import elimination


def quasi_definite(seed, size, density):
    """A random symmetric matrix that can be factored in any order."""
    rng = np.random.default_rng(seed)
    A = random_array((size, size), density=density, rng=rng)
    return csr_array((A + A.T + size * np.eye(size)) * ((A + A.T).toarray() != 0) + size * np.eye(size))


@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(0.01, 0.5))
@settings(max_examples=50, deadline=None)
def test_factors_have_as_many_numbers_as_planned(seed, size, density):
    K = quasi_definite(seed, size, density)
    plan = elimination(K)
    assert sorted(plan.order.tolist()) == list(range(size))
    ordered = K[plan.order][:, plan.order].tocsc()
    lu = splu(ordered, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    assert lu.L.nnz <= plan.numbers
    dense = np.linalg.cholesky(ordered.toarray())
    assert np.count_nonzero(np.abs(dense) > 1e-14) <= plan.numbers


def test_a_tree_is_eliminated_without_a_new_connection():
    parent = np.random.default_rng(0).integers(0, np.arange(1, 2_000))
    child = np.arange(1, 2_000)
    tree = csr_array((np.ones(1_999), (parent, child)), shape=(2_000, 2_000))
    assert elimination((tree + tree.T).tocsr()).numbers == 2_000 + 1_999


def test_what_is_not_counted_one_by_one_is_taken_for_dense(monkeypatch):
    K = quasi_definite(1, 60, 0.1)
    monkeypatch.setattr(module, "MOST_LINKS", -1)
    assert elimination(K).numbers == 60 * 61 // 2
    assert elimination(K).operations == pytest.approx(60**3 / 3, abs=1)
