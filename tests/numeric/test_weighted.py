"""What is reached without sorting is what sorting says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacyfunnel.numeric.weighted import reached


@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_a_turn_is_reached_where_weights_in_its_order_add_up_to_the_total(seed, count):
    rng = np.random.default_rng(seed)
    turns, weights = rng.integers(1, 6, count) / 4, rng.integers(0, 4, count) / 4
    total = rng.integers(-1, 12) / 4
    order = np.argsort(turns)
    enough = np.flatnonzero(np.cumsum(weights[order]) >= total)
    sought = turns[order][enough[0]] if len(enough) else turns.max(initial=0.0)
    assert reached(turns.copy(), weights.copy(), total) == (sought if total > 0 else 0.0)
