"""What readers will get, told before anything is released."""

import math

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.error_wish import epsilon_for_errors
from privacyfunnel.estimates.expected import columns_told
from privacyfunnel.protocols.variants import without_variants

COUNTS = np.random.default_rng(2).integers(20, 200, size=(2, 3, 2))
RELEASES = 100


@pytest.fixture(scope="module")
def joint() -> pf.Joint:
    return pf.Joint(COUNTS, attributes=["town", "sex"])


@pytest.fixture(scope="module")
def protocol(joint) -> pf.Protocol:
    return pf.optimise(joint, pf.LIP(0.1), readers="pairs")


def sampled(joint: pf.Joint, n: int, rng) -> pd.DataFrame:
    x = rng.choice(joint.n_x, n, p=joint.p_x)
    return pd.DataFrame(joint.values[x], columns=list(joint.attributes)).astype(int)


@pytest.mark.long
def test_the_expected_error_is_that_of_simulated_releases(joint, protocol):
    n, rng = 500, np.random.default_rng(1)
    found = pf.expected_errors(protocol, joint, n, of="pairs")
    off = {(each.attributes, each.values): [] for each in found.shares}
    counted = {key: [] for key in off}
    for seed in range(RELEASES):
        released = protocol.sanitise(sampled(joint, n, rng), seed=seed)
        answer = pf.estimate(released, protocol, of=["town", "sex", ("town", "sex")], model=False)
        for table in answer.tables:
            for each in table.estimates:
                off[table.attributes, each.values[0]].append(each.share)
        for attributes, values in counted:
            same = (released[list(attributes)].to_numpy() == np.array(values)).all(axis=1)
            counted[attributes, values].append(same.mean())
    for each in found.shares:
        shares = np.array(off[each.attributes, each.values]) - each.share
        assert math.sqrt(np.mean(shares**2)) == pytest.approx(each.estimated, rel=0.3)
        assert abs(shares.mean()) <= 4 * each.estimated / math.sqrt(RELEASES)  # unbiased
        as_they_stand = np.array(counted[each.attributes, each.values]) - each.share
        assert math.sqrt(np.mean(as_they_stand**2)) == pytest.approx(each.counted, rel=0.3)


def test_releasing_everything_has_the_errors_of_the_original(joint):
    found = pf.expected_errors(pf.optimise(joint, pf.LIP(20)), joint)
    assert [each.estimated_times for each in found.shares] == pytest.approx([1.0] * len(found.shares))
    assert found.typical == pytest.approx(1.0)


def test_faithful_rows_that_are_counted_have_at_most_root_two_times_the_error(joint):
    faithful = pf.optimise(joint, pf.LIP(0.1), objective="faithful")
    assert all(1 <= each.counted_times <= math.sqrt(2) + 1e-9 for each in pf.expected_errors(faithful, joint).shares)


def test_without_variants_nothing_is_sharper(joint, protocol):
    merged = without_variants(protocol)
    whole, less = (pf.expected_errors(each, joint) for each in (protocol, merged))
    assert merged.variant is None
    assert pf.certify(merged, joint).holds
    for before, after in zip(whole.shares, less.shares, strict=True):
        assert after.estimated_times >= before.estimated_times * 0.99  # weighed by the coarse marginal


@pytest.mark.parametrize("n", [40, 400, 40_000])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_the_columns_that_are_told_of_other_rows_are_those_that_estimate_tells(joint, epsilon, n):
    for objective in ("information", "faithful"):
        protocol = pf.optimise(joint, pf.LIP(epsilon), objective=objective)
        rows = sampled(joint, n, np.random.default_rng(n))
        known = None if objective == "information" else "other"
        found = pf.estimate(protocol.sanitise(rows, seed=1), protocol, rows=known)
        told = {table.attributes[0] for table in found.tables if not table.untold}
        assert set(columns_told(protocol, n)) == told


def test_it_is_told_to_people_and_machines(joint, protocol):
    found = pf.expected_errors(protocol, joint)
    assert found.words().startswith("estimated whatever the table: typically ×")
    data = found.as_dict()
    assert data["rows"] == joint.total
    assert data["worst"] >= data["typical"] >= 1
    nothing = pf.expected_errors(pf.optimise(joint, pf.LIP(1e-6), objective="faithful"), joint)
    assert "not told" in nothing.words()
    assert nothing.as_dict()["typical"] is None


def test_the_number_of_rows_must_be_known(joint, protocol):
    probabilities = pf.Joint(COUNTS / COUNTS.sum(), attributes=["town", "sex"])
    with pytest.raises(InvalidInput, match="how many rows"):
        pf.expected_errors(protocol, probabilities)
    for n in (0, 1.5, True):
        with pytest.raises(InvalidInput, match="number of rows"):
            pf.expected_errors(protocol, joint, n)
    with pytest.raises(InvalidInput):
        pf.expected_errors("protocol", joint)


@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_the_smallest_epsilon_for_an_error_meets_it(joint, objective):
    own = max(each.original for each in pf.expected_errors(pf.optimise(joint, pf.LIP(20)), joint, of=["town"]).shares)
    wish = epsilon_for_errors(joint, pf.LIP, {"town": 1.3 * own}, objective=objective)
    assert wish.reached["town"] <= 1.3 * own
    assert wish.protocol.notion.epsilon == wish.epsilon > wish.too_small
    assert "town" in wish.words()
    assert wish.as_dict()["epsilon"] == wish.epsilon


def test_an_error_below_the_tables_own_is_refused(joint):
    with pytest.raises(InvalidInput, match="itself"):
        epsilon_for_errors(joint, pf.LIP, {"town": 0.001})
    with pytest.raises(InvalidInput, match="released columns"):
        epsilon_for_errors(joint, pf.LIP, {"height": 0.1})
