"""The heap of compiled loops gives items back in the order of their bounds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacyfunnel.numeric.heap import pop, push


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30))
def test_items_leave_in_the_order_of_their_bounds(values):
    bounds, heap = np.array(values), np.arange(len(values))
    size = 0
    for _ in values:
        size = push(bounds, heap, size)
    left = []
    while size:
        left.append(float(bounds[heap[0]]))
        size = pop(bounds, heap, size)
    assert left == sorted(values)
    assert sorted(heap) == list(range(len(values)))
