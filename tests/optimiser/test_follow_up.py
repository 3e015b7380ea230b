"""Follow-ups: everything that was released of somebody keeps the promise together, and none keeps more."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import brute
import history_brute
import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.proof.histories import Past
from strategies import UNIT, arrays, joints

pytestmark = pytest.mark.usefixtures("compiled_loops")

JOINT = pf.Joint([[40, 30, 20, 5], [5, 20, 60, 10]])
KINDS = [pf.LIP, pf.LDP, pf.PML]
EXTRA = 1e-9
"""Nats that float64 may make of entropies."""


def chains(most=3):
    """Kinds of promises with levels that do not fall, and objectives."""
    steps = st.lists(
        st.tuples(st.floats(0.05, 1.0), st.sampled_from(["information", "faithful"])), min_size=2, max_size=most
    )
    return st.tuples(st.sampled_from(KINDS), steps)


def followed(joint, kind, steps):
    """A protocol for each step, each the follow-up of the one before, every ε larger by so much."""
    protocol, epsilon = None, 0.0
    for more, objective in steps:
        epsilon += more
        protocol = pf.optimise(joint, kind(epsilon), objective=objective, after=protocol)
        yield protocol


@given(joints(max_s=3, max_x=4, min_s=2, min_x=2), chains())
def test_everything_released_keeps_the_last_promise_in_fractions(joint, chain):
    for protocol in followed(joint, *chain):
        assert brute.keeps(protocol.notion, history_brute.lifts(joint, protocol))
        assert pf.certify(protocol, joint).holds


@given(joints(max_s=3, max_x=4, min_s=2, min_x=2), chains(2))
def test_the_certified_level_is_that_of_brute_force(joint, chain):
    kind, steps = chain
    *_, protocol = followed(joint, kind, steps)
    lifts, level = history_brute.lifts(joint, protocol), pf.certify(protocol, joint).level
    assert brute.keeps(kind(level * (1 + 1e-12) + 1e-15), lifts)
    if level > 1e-6:
        assert not brute.keeps(kind(level * (1 - 1e-9)), lifts)


@given(joints(max_s=3, max_x=5, min_s=2, min_x=2), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_both_releases_together_keep_no_more_than_the_best_single_one_and_the_first_alone_no_more_than_both(
    joint, epsilon, more
):
    first = pf.optimise(joint, pf.LIP(epsilon))
    second = pf.optimise(joint, pf.LIP(epsilon + more), after=first)
    best = pf.optimise(joint, pf.LIP(epsilon + more))
    assert -EXTRA <= second.utility <= second.upper_bound
    assert first.utility + second.utility <= best.upper_bound + EXTRA
    assert second.gap <= 1e-6


@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_the_same_promise_again_is_kept_and_follows_a_release_at_its_limit(objective):
    first = pf.optimise(JOINT, pf.LIP(0.3), objective=objective)
    second = pf.optimise(JOINT, pf.LIP(0.3), after=first, objective=objective)
    assert pf.certify(second, JOINT).holds
    assert brute.keeps(pf.LIP(0.3), history_brute.lifts(JOINT, second))


def test_a_weaker_first_release_cannot_be_followed_by_a_stricter_promise():
    first = pf.optimise(JOINT, pf.LIP(0.5))
    with pytest.raises(InvalidPromise, match="no follow-up takes that back"):
        pf.optimise(JOINT, pf.LIP(0.2), after=first)


def test_after_a_constant_release_the_best_follow_up_is_the_best_first_release():
    copied = pf.Joint([[10, 0], [0, 10]])
    nothing = pf.optimise(copied, pf.PerfectPrivacy())
    assert nothing.utility == pytest.approx(0, abs=1e-9)
    second = pf.optimise(copied, pf.LIP(0.4), after=nothing)
    assert second.utility == pytest.approx(pf.optimise(copied, pf.LIP(0.4)).utility, abs=1e-6)


@given(arrays(max_s=2, max_x=6, min_s=2, min_x=6), st.floats(0.1, 0.6), st.floats(0.1, 0.6))
def test_a_release_of_some_columns_is_followed_by_one_of_more(array, epsilon, more):
    assume((array.reshape(2, -1).sum(axis=1) > 0).all() and (array.sum() > 0))
    joint = pf.Joint(array[:, :6].reshape(2, 2, 3), attributes=["sex", "town"])
    first = pf.optimise(joint.over(["sex"]), pf.LIP(epsilon))
    second = pf.optimise(joint, pf.LIP(epsilon + more), after=first)
    assert second.attributes == ("sex", "town")
    assert brute.keeps(pf.LIP(epsilon + more), history_brute.lifts(joint, second))


def test_attackers_who_know_a_column_are_covered_by_the_follow_up():
    joint = pf.Joint(np.random.default_rng(3).integers(1, 20, size=(2, 2, 3)), attributes=["sex", "town"])
    first = pf.optimise(joint, pf.SRLIP(0.3))
    second = pf.optimise(joint, pf.SRLIP(0.7), after=first)
    assert pf.certify(second, joint).holds
    assert second.utility > 0.01
    for place, name in enumerate(joint.attributes):
        for value in range(joint.weights.shape[1]):
            cell = np.flatnonzero(joint.codes[:, place] == value)
            if len(cell):
                known = pf.Joint.from_support(
                    joint.weights[:, cell], joint.values[cell], attributes=list(joint.attributes)
                )
                assert brute.keeps(pf.LIP(0.7), history_brute.lifts(known, second)), name


def test_only_the_histories_that_occurred_have_a_channel():
    first = pf.optimise(JOINT, pf.LIP(0.3))
    second = pf.optimise(JOINT, pf.LIP(0.8), after=first, histories=np.array([[0], [2]]))
    assert second.by_history.histories.tolist() == [[0], [2]]
    assert pf.certify(second, JOINT).holds


def test_faithful_follow_ups_have_the_distribution_of_the_original_given_every_history():
    first = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    second = pf.optimise(JOINT, pf.LIP(0.8), after=first, objective="faithful")
    certificate = pf.certify(second, JOINT)
    assert certificate.holds
    assert certificate.marginal_error <= 2**-30
    assert first.fidelity < second.fidelity <= second.fidelity_bound


def test_rare_combinations_that_are_read_as_others_keep_the_promise_as_people_have_them():
    from privacyfunnel.distribution.noise import with_at_least

    counts = np.random.default_rng(5).integers(0, 12, size=(2, 3, 4))
    people = pf.Joint(counts, attributes=["sex", "town"])
    first = pf.optimise(with_at_least(people, 8), pf.LIP(0.3))
    second = pf.optimise(with_at_least(people, 11), pf.LIP(0.9), after=first)
    assert pf.certify(second, people).holds
    assert second.utility > 0.05


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"after": "first.json"}, "the protocol of the release before"),
        ({"readers": "shares"}, "goes without readers"),
        ({"histories": [[99]]}, "none of the histories"),
        ({"histories": [[0, 1]]}, "has 1 outputs"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_a_line(what, words):
    first = pf.optimise(JOINT, pf.LIP(0.3))
    with pytest.raises(InvalidInput, match=words):
        pf.optimise(JOINT, pf.LIP(0.8), **{"after": first, **what})


def test_what_is_about_a_single_release_refuses_a_follow_up_in_a_line():
    second = pf.optimise(JOINT, pf.LIP(0.8), after=pf.optimise(JOINT, pf.LIP(0.3)))
    assert second.step.kind == "by_history"
    with pytest.raises(InvalidInput, match="follows an earlier release"):
        _ = second.channel
    with pytest.raises(InvalidInput, match="follows an earlier release"):
        pf.attack(JOINT, second)


@given(
    joints(max_s=3, max_x=4, min_s=2, min_x=2),
    st.floats(0.05, 0.5),
    st.integers(0, 2**32 - 1),
    st.floats(0.05, 1.0),
)
def test_fresh_releases_that_keep_the_promise_together_tell_no_more_than_the_follow_up(joint, epsilon, seed, share):
    """A second channel that looks at x alone is one of the channels among which the follow-up is the best."""
    first = pf.optimise(joint, pf.LIP(epsilon))
    fresh = np.random.default_rng(seed).dirichlet(np.ones(3), size=joint.n_x).T
    fresh = share * fresh + (1 - share) / 3
    N = np.floor(fresh * UNIT).astype(np.int64)
    N[0] += UNIT - N.sum(axis=0)
    lifts = history_brute.fresh_lifts(joint, [(first.channel * UNIT).astype(np.int64).tolist(), N.tolist()])
    level = float(max(brute.levels(lifts)[0][1], brute.levels(lifts)[1][1])) * (1 + 1e-12) + 1e-12
    assume(np.isfinite(level) and level < 20)
    second = pf.optimise(joint, pf.LIP(max(level, epsilon)), after=first)
    told = information_after(first.channel, N / UNIT, joint.p_x)
    assert second.upper_bound >= told - EXTRA
    assert second.utility >= told - 1e-6 - EXTRA


def information_after(first, second, p_x):
    """I(X;Y₂|Y₁) of fresh releases through two channels."""
    told = 0.0
    for q in first:
        mass = p_x * q
        if mass.sum() > 0:
            told += mass.sum() * brute.information((mass / mass.sum()).tolist(), second.tolist())
    return told


def test_two_fresh_releases_at_half_the_level_can_tell_everything():
    joint = pf.Joint([[40, 10, 1], [10, 40, 9]])
    half = pf.optimise(joint, pf.LIP(0.2))
    assert pf.repeated(joint, half, (2,))[0].level > 0.4
    second = pf.optimise(joint, pf.LIP(0.4), after=half)
    assert pf.certify(second, joint).level <= 0.4


def test_levels_of_single_values_and_of_several_secrets_hold_for_everything_together():
    from privacyfunnel.distribution.noise import with_at_least

    counts = np.random.default_rng(8).integers(0, 30, size=(3, 4, 3))
    people = pf.Joint(counts, attributes=["town", "age"], secret_values=["ill", "well", "unknown"])
    for joint in (people, with_at_least(people, 20)):
        first = pf.optimise(joint, pf.LIP({"ill": 0.1, "well": 0.3, "unknown": 0.3}))
        second = pf.optimise(joint, pf.LIP({"ill": 0.15, "well": 0.8, "unknown": 0.6}), after=first)
        assert pf.certify(second, people).holds
        assert second.utility > 0.01


def test_histories_that_hardly_anybody_has_are_told_nothing_more_within_the_gap():
    """Rounding gives every value a few units of one output: its rare followers would have programs of their own."""
    joint = pf.Joint(np.random.default_rng(5).integers(1, 60, size=(2, 40)))
    protocol = pf.optimise(joint, pf.LIP(0.05))
    for epsilon in (0.1, 0.15):
        protocol = pf.optimise(joint, pf.LIP(epsilon), after=protocol, gap=1e-4)
        assert pf.certify(protocol, joint).level <= epsilon
    steps = protocol.by_history
    values, outcomes = np.diff(steps.starts), np.bincount(steps.outcomes[:, 0])
    told_nothing = (values > 1) & (outcomes == 1)
    assert told_nothing.sum() > 20
    past, weights = Past(protocol.before, joint), joint.weights.sum(axis=0).astype(object)
    rare = [int(past.numerators(tuple(h)) @ weights) for h in steps.histories[told_nothing].tolist()]
    assert sum(rare) / (joint.total * UNIT**2) * np.log(40) <= 0.25e-4


@pytest.mark.parametrize("gap", [1e-6, 1e-3, 0.3])
def test_what_is_left_untold_is_within_the_gap_that_was_asked_for(gap):
    first = pf.optimise(JOINT, pf.LIP(0.3))
    best = pf.optimise(JOINT, pf.LIP(0.8), after=first, gap=1e-9)
    found = pf.optimise(JOINT, pf.LIP(0.8), after=first, gap=gap)
    assert found.gap <= gap
    assert found.utility >= best.utility - gap - EXTRA
    assert found.upper_bound >= best.utility - EXTRA


@pytest.mark.long
@settings(max_examples=2000)
@given(joints(max_s=3, max_x=3, min_s=2, min_x=2), st.sampled_from(KINDS), st.tuples(*[st.floats(0.02, 1.0)] * 2))
def test_two_thousand_histories_of_two_releases_keep_their_promise_in_fractions(joint, kind, steps):
    *_, protocol = followed(joint, kind, [(more, "information") for more in steps])
    assert brute.keeps(protocol.notion, history_brute.lifts(joint, protocol))


@pytest.mark.long
@settings(max_examples=60)
@given(joints(max_s=3, max_x=3, min_s=2, min_x=2), chains(5), st.floats(0.01, 0.3))
def test_histories_of_three_and_five_releases_keep_their_promise_in_fractions(joint, chain, last):
    kind, steps = chain
    steps = [*steps, (last, "information")]
    *_, protocol = followed(joint, kind, steps)
    assert protocol.releases == len(steps)
    assert brute.keeps(protocol.notion, history_brute.lifts(joint, protocol))


def test_a_follow_up_about_another_secret_is_refused_since_the_first_would_be_unguarded():
    counts = np.random.default_rng(1).integers(1, 20, size=(2, 4))
    first = pf.optimise(pf.Joint(counts, secret="illness"), pf.LIP(0.3))
    with pytest.raises(InvalidPromise, match="a promise about illness"):
        pf.optimise(pf.Joint(counts, secret="income"), pf.LIP(0.9), after=first)
    with pytest.raises(InvalidPromise, match="a promise about illness"):  # one secret, called so
        pf.optimise(pf.Joint(counts, secret="income and illness"), pf.LIP(0.9), after=first)
    both = pf.Joint(np.stack([counts, counts]), secret=["income", "illness"])
    assert pf.optimise(both, pf.LIP(0.9), after=first).utility >= 0


def test_a_first_release_with_exact_columns_is_followed_as_its_rows_were_read():
    from privacyfunnel.distribution.noise import with_at_least

    counts = np.random.default_rng(11).integers(0, 25, size=(2, 2, 5)) + np.array([5, 6])[:, None, None]
    people = pf.Joint(counts, attributes=["sex", "town"])
    first = pf.optimise(with_at_least(people, 30, exact=("sex",)), pf.LIP(0.6), exact=["sex"])
    assert first.block.exact == ("sex",)
    second = pf.optimise(with_at_least(people, 12), pf.LIP(1.0), after=first)
    assert pf.certify(second, people).holds
    for x, history in enumerate(history_of_each(first, people)):
        past = Past(first, people)
        for y in range(first.block.channel.n_outputs):
            assert past.numerators((y,))[x] == history.get(y, 0)


def history_of_each(protocol, joint):
    """{y: 2³²·P(y|x)} for every value of X, by the protocol's own way of reading values."""
    block = protocol.block
    for x in block.inputs_of(joint):
        a, b = block.channel.starts[x : x + 2]
        yield dict(zip(block.channel.outputs[a:b].tolist(), block.channel.numerators[a:b].tolist(), strict=True))


@pytest.mark.parametrize(
    "promise",
    [
        pf.LIP({0: 0.4, 1: 0.5}),
        pf.Belief({0: 0.9}),
        pf.Ordered(pf.LIP(0.4), pf.LIP(0.6)),
        pf.Promises(s=pf.LIP(0.4)),
    ],
)
def test_promises_of_every_kind_can_be_about_everything_released(promise):
    joint = pf.Joint(np.random.default_rng(1).integers(5, 40, size=(2, 3, 2)), attributes=["town", "sex"], secret="s")
    first = pf.optimise(joint.over(["town"]), pf.LIP(0.2))
    certificate = pf.certify(pf.optimise(joint, promise, after=first), joint)
    assert certificate.holds
    assert all(one.level <= one.promised for one in certificate.levels)


def test_a_secret_with_other_texts_for_missing_is_refused_by_that_name(tmp_path):
    rng = np.random.default_rng(3)
    rows = [f"{s},{x}" for s, x in zip(rng.choice(["y", "n", "NA"], 200), rng.choice(list("abc"), 200), strict=True)]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["ill,town", *rows]) + "\n", encoding="utf-8")
    first = pf.optimise(pf.Joint.from_table(table, "ill", missing="NA"), pf.LIP(0.2))
    today = pf.Joint.from_table(table, "ill")
    with pytest.raises(pf.PrivacyFunnelError, match=r"other texts that mean missing.*'NA'.*\(missing\)"):
        pf.optimise(today, pf.LIP(0.5), after=first)
    assert pf.optimise(pf.Joint.from_table(table, "ill", missing="NA"), pf.LIP(0.5), after=first)


def test_what_rules_out_a_secret_is_refused_without_a_promise_that_nobody_can_make():
    then, now = (np.array([[20, 20, 20], [30, 30, last]]) for last in (30, 0))
    first = pf.optimise(pf.Joint(then, attributes=["town"], secret="s"), pf.LIP(0.2), objective="faithful")
    with pytest.raises(pf.PrivacyFunnelError, match="may rule out a value of the secret") as refused:
        pf.optimise(pf.Joint(now, attributes=["town"], secret="s"), pf.LIP(0.5), after=first)
    assert "inf" not in str(refused.value)
