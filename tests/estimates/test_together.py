"""Estimates from several releases together: unbiased, sharper than the first alone, and refused without it."""

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.together import together
from privacyfunnel.protocols.channel import UNIT

ROWS = 900
JOINT = pf.Joint([[200, 120, 30], [50, 200, 300]], attributes=["town"])
FIRST = pf.optimise(JOINT, pf.LIP(0.2))
SECOND = pf.optimise(JOINT, pf.LIP(0.7), after=FIRST)
TABLE = pd.DataFrame({"id": np.arange(ROWS), "town": np.repeat([0, 1, 2], [400, 300, 200])})
"""Other shares than those that were fitted on."""
MOST_SIGMAS = 4.5
ROUNDED = 1e-7
"""What products of probabilities, rounded to multiples of 2⁻³², may move a share by."""


def released(seed):
    first = FIRST.sanitise(TABLE, keep_order=True, seed=seed).assign(id=TABLE["id"])
    second = SECOND.sanitise(TABLE, released=first, person="id", keep_order=True, seed=1000 + seed)
    return first, second.assign(id=TABLE["id"]).sample(frac=1, random_state=seed)


def test_everything_together_is_the_product_of_both_channels():
    block = together(SECOND).block
    Q = block.channel.dense()
    steps, labels = SECOND.by_history, FIRST.channel
    for i, (h, y) in enumerate(steps.outcomes.tolist()):
        values, channel = steps.of(h)
        for x in range(3):
            at = np.flatnonzero(values == x)
            own = channel.dense()[y, at[0]] if len(at) else 0.0
            assert Q[i, x] == pytest.approx(labels[steps.histories[h, 0], x] * own, abs=2 / UNIT)
    assert Q[-1].max() <= 10 / UNIT  # all histories are known


def test_shares_are_right_on_average_and_their_errors_are_honest():
    truth = np.bincount(TABLE["town"]) / ROWS
    found, errors = [], []
    for seed in range(12):
        first, second = released(seed)
        rows = pf.estimate(second, SECOND, earlier=first, person="id", model=False).table("town").estimates
        assert all(row.told for row in rows)
        found.append([row.share for row in rows])
        errors.append([row.error for row in rows])
    spread = np.std(found, axis=0) / np.sqrt(len(found)) + ROUNDED
    assert np.abs((np.mean(found, axis=0) - truth) / spread).max() < MOST_SIGMAS
    drawing = np.std(found, axis=0)
    assert (drawing < 1.5 * np.mean(errors, axis=0)).all()  # which hold sampling, too
    assert np.abs((np.mean(found, axis=0) - JOINT.p_x) / spread).max() > MOST_SIGMAS


def test_errors_that_are_expected_from_both_are_below_those_of_the_first_alone():
    alone, both = pf.expected_errors(FIRST, JOINT), pf.expected_errors(SECOND, JOINT)
    for first, second in zip(alone.shares, both.shares, strict=True):
        assert second.estimated <= first.estimated * (1 + 1e-6)
    assert both.typical < alone.typical


def test_a_follow_up_alone_is_refused_in_a_line():
    first, second = released(0)
    with pytest.raises(InvalidInput, match="give that, too"):
        pf.estimate(second, SECOND)
    with pytest.raises(InvalidInput, match="follows no earlier release"):
        pf.estimate(first, FIRST, earlier=second, person="id")


def test_rows_that_never_follow_each_other_are_refused_with_their_number():
    first, second = released(0)
    mixed = second.assign(id=np.roll(second["id"], 1))
    with pytest.raises(InvalidTable, match="people have rows that this protocol never releases after each other"):
        pf.estimate(mixed, SECOND, earlier=first, person="id")


def test_too_few_people_in_both_are_refused():
    first, second = released(0)
    with pytest.raises(InvalidTable, match="too few for an estimate"):
        pf.estimate(second.iloc[:20], SECOND, earlier=first, person="id")
