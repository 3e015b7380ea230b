"""Different rows, packed: the same as comparing them whole, however many columns there are."""

import numpy as np
import pytest

from privacyfunnel.numeric.rows import unique_rows


@pytest.mark.parametrize(("rows", "columns", "values"), [(50, 1, 3), (200, 3, 4), (100, 80, 5), (30, 2, 2**40)])
def test_unique_rows_are_those_of_numpy(rows, columns, values):
    codes = np.random.default_rng(columns).integers(-1, values, (rows, columns))
    codes = np.vstack([codes, codes[: rows // 3]])
    expected, place = np.unique(codes, axis=0, return_inverse=True)
    found, of = unique_rows(codes)
    assert np.array_equal(found, expected)
    assert np.array_equal(of, place.ravel())


def test_no_rows_are_no_rows():
    found, of = unique_rows(np.empty((0, 4), dtype=np.int64))
    assert found.shape == (0, 4)
    assert of.shape == (0,)
