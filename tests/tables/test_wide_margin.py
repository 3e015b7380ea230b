"""How far inside a promise a fit aims where its model has noise: groups, and lists still further."""

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.optimiser.wide.margin import OF_LOWER, OF_LOWER_IN_LISTS
from privacyfunnel.proof.wide import certify_plan
from privacyfunnel.tables.wide.fit import fit_wide


def joint_in_which_two_columns_tell():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (6_000, 3))
    ill = rng.random(6_000) < 0.05 + 0.1 * x[:, 0] + 0.05 * x[:, 1]
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(ill=np.where(ill, "yes", "no"))
    return pf.Joint.from_table(frame, "ill", ["a", "b", "c"])


def test_groups_of_a_noisy_model_lie_further_inside_than_is_promised():
    for epsilon, share in ((None, 1.0), (5.0, OF_LOWER)):
        protocol = fit_wide(joint_in_which_two_columns_tell(), pf.LIP(0.4), epsilon, seconds=0)
        weights = protocol.by_model.model.weights()
        prior = weights[1].sum() / weights.sum()
        rule, plan = protocol.by_model.rule, protocol.by_model.plan
        assert rule.low == pytest.approx(prior * np.exp(-share * 0.4), rel=1e-5)
        assert rule.high == pytest.approx(prior * np.exp(0.4), rel=1e-5)
        assert certify_plan(plan, pf.LIP(0.4))
        assert bool(certify_plan(plan, pf.ALIP(lower=0.4 * OF_LOWER + 1e-4, upper=0.4))) == (share < 1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("epsilon", "share"), [(None, 1.0), (5.0, OF_LOWER_IN_LISTS)])
def test_lists_of_a_noisy_model_lie_further_inside_than_groups(epsilon, share, delta):
    protocol = fit_wide(joint_in_which_two_columns_tell(), pf.LIP(0.2), epsilon, delta=delta)
    assert protocol.by_model.redrawn_by == "program"
    assert bool(protocol.by_model.delta) is (epsilon is not None and delta != 0)
    plan, listed = protocol.by_model.plan, protocol.by_model.plan.listed.by_target()
    prior = plan.weights[1].sum() / plan.W.sum()
    told = np.add.reduceat(listed.mass * (plan.weights[1] / plan.W)[listed.cells], listed.start[:-1]) / listed.total()
    assert np.log(told.min() / prior) == pytest.approx(-share * 0.2, abs=1e-4)
    assert np.log(told.max() / prior) == pytest.approx(0.2, abs=1e-4)
    assert bool(certify_plan(plan, pf.ALIP(lower=0.2 * OF_LOWER_IN_LISTS + 1e-3, upper=0.2))) == (share < 1)
