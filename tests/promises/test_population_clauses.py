"""Promises of several clauses, and limits on belief, for every distribution that counts leave open."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from tests import clauses, robust_brute
from tests.proof.test_multipliers import Cell

import privacyfunnel as pf
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.confidence import confidence_set
from privacyfunnel.promises.noisy_bounds import largest_noise
from privacyfunnel.promises.sets import SCALE
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.tables.private_counts import private

UNIT = 2**32
KINDS = ("by value", "belief", "several", "odds of several", "borders", "belief and factor")
SETS = ("intervals", "nested")


def case(kind, seed, within="intervals", people=400):
    """A small joint with a promise of a kind over a set."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    e, f = (float(rng.choice([0.15, 0.3, 0.6, 1.0])) for _ in range(2))
    size = (2, 2) if within == "nested" else (int(rng.integers(2, 4)),)
    if kind in ("several", "odds of several", "belief and factor"):
        joint = pf.Joint(rng.integers(people // 10, people, size=(2, 2, *size)), secret=["a", "b"])
        other = (pf.LDP if kind == "odds of several" else pf.LIP)(f)
        first = pf.Belief({0: most(joint, [0, 1], rng)}) if kind == "belief and factor" else pf.LIP(e)
        return joint, pf.robust(pf.Promises(a=first, b=other), 0.9, within)
    n_s = int(rng.integers(2, 4))
    joint = pf.Joint(rng.integers(people // 10, people, size=(n_s, *size)))
    match kind:
        case "by value":
            promise = pf.LIP({s: float(rng.choice([0.15, 0.3, 0.6, 1.0])) for s in range(n_s)})
        case "belief":
            promise = pf.Belief({s: most(joint, [s], rng) for s in range(int(rng.integers(1, n_s + 1)))})
        case _:
            promise = pf.Ordered((pf.LIP if seed % 2 else pf.LDP)(e))
    return joint, pf.robust(promise, 0.9, within)


def most(joint, values, rng):
    """A limit on the belief in some values that leaves room above their share."""
    share = float(joint.p_s[values].sum())
    return round(share + (1 - share) * float(rng.uniform(0.2, 0.7)), 6)


# --- an independent oracle --------------------------------------------------------------------------------------


class Oracle:
    """All corners of the set of every clause, in fractions, found once."""

    def __init__(self, over, joint):
        self.said, self._parts = clauses.statements(over.promise, joint), []
        self._factors = [one.factor() for one in self.said]
        for clause, parts in over.possible_clauses(joint):
            events = clause.joint.events if clause.joint.events is not None else np.arange(joint.n_s)
            sets = [frozenset(np.flatnonzero(events == k).tolist()) for k in range(int(events.max()) + 1)]
            for part in parts:
                given, prior = robust_brute.fractions_of(part)
                shares = None if part.tables else [one.corners() for one in given]
                self._parts.append((clause.subject, sets, part, prior.corners(), shares))

    def worst(self, rows):
        """(statement, the largest that it bounds), over all ends of P(y|event) and all corners of P(S)."""
        told = [self._told(sets, part, shares, rows) for _, sets, part, _, shares in self._parts]
        for one in self.said:
            found = Fraction(0)
            for (subject, sets, _, priors, _), outputs in zip(self._parts, told, strict=True):
                if subject != one.subject or one.event not in sets or (one.against or one.event) not in sets:
                    continue
                s, t = sets.index(one.event), None if one.against is None else sets.index(one.against)
                for both in outputs:
                    for at, prior in product(product(*both), priors):
                        mean = sum(p * k for p, k in zip(prior, at, strict=True))
                        got = _said(one, at[s], mean, prior[s], None if t is None else at[t])
                        found = None if got is None or found is None else max(found, got)
            yield one, found

    def _told(self, sets, part, shares, rows):
        """For every output, the least and the most P(y|event): at corners, or by the simplex method in fractions."""
        found = []
        for row in rows:
            w = [int(row[x]) for x in part.members[0].tolist() if x >= 0]
            if not any(w):
                continue
            if shares is None:
                cell = Cell(part, 0)
                found.append([tuple(Fraction(end, SCALE) for end in cell.extremes(s, w)) for s in range(len(sets))])
                continue
            means = [[sum(p * k for p, k in zip(r, w, strict=True)) for r in own] for own in shares]
            found.append([(min(own), max(own)) for own in means])
        return found

    def keeps(self, rows):
        worst = zip(self.worst(rows), self._factors, strict=True)
        return all(found is not None and found <= factor for (_, found), factor in worst)

    def levels(self, rows):
        """By subject, the largest ln ratio, or belief, over the set."""
        found = {}
        for one, got in self.worst(rows):
            size = math.inf if got is None else float(got) if one.belief else math.log(got) if got else 0.0
            found[one.subject] = max(found.get(one.subject, 0.0), size)
        return found


def _said(one, told, mean, prior, other):
    """What a statement bounds, at one distribution; None if infinite."""
    if one.belief:
        over, under = prior * told, mean
    elif other is not None:
        over, under = told, other
    else:
        over, under = (told, mean) if one.rises else (mean, told)
    if under == 0:
        return None if over else Fraction(0)
    return over / under


# --- certificates -----------------------------------------------------------------------------------------------


def two_rows(rng, n_x, far):
    row = (UNIT // 2 + rng.integers(-far, far, size=n_x)).astype(object)
    return np.array([row, UNIT - row], dtype=object)


def certified(rows, joint, over):
    return certify_channel(Channel.from_numerators(rows.astype(np.int64)), joint, over)


@pytest.mark.long
@pytest.mark.parametrize("within", SETS)
@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_and_levels_over_a_set_are_those_of_all_its_corners(kind, within):
    rng = np.random.default_rng(1)
    for seed in range(4):
        joint, over = case(kind, seed, within)
        rows = two_rows(rng, joint.n_x, UNIT // int(rng.choice([3, 6, 20])))
        oracle = Oracle(over, joint)
        certificate, said = certified(rows, joint, over), oracle.levels(rows)
        told = {one.subject: one.level for one in certificate.levels}
        assert told.keys() == said.keys()
        for subject, level in said.items():
            assert told[subject] >= level * (1 - 1e-12)
            assert within == "nested" or told[subject] == pytest.approx(level, rel=1e-9, abs=1e-12)
        assert not certificate.holds or oracle.keeps(rows)
        assert within == "nested" or certificate.holds == oracle.keeps(rows)


def mutated(rng, joint, oracle):
    """Two rows just past a limit over the set, found by halving the way from a constant row; None if all hold."""
    inside, outside = two_rows(rng, joint.n_x, 1), two_rows(rng, joint.n_x, UNIT // 2 - 1)
    if oracle.keeps(outside) or not oracle.keeps(inside):
        return None
    for _ in range(int(rng.integers(1, 24))):
        row = (inside[0] + outside[0]) // 2
        middle = np.array([row, UNIT - row], dtype=object)
        inside, outside = (middle, outside) if oracle.keeps(middle) else (inside, middle)
    return outside


def check_mutations(kind, within, wanted):
    rng, found, seed = np.random.default_rng(2), 0, 100
    while found < wanted:
        joint, over = case(kind, seed, within)
        seed, oracle = seed + 1, Oracle(over, joint)
        for _ in range(12):
            rows = mutated(rng, joint, oracle)
            if rows is not None:
                assert not certified(rows, joint, over).holds
                found += 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_channel_past_a_limit_for_the_population_is_certified(kind):
    check_mutations(kind, "intervals", 3)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_of_many_channels_past_a_limit_for_the_population_none_is_certified(kind):
    check_mutations(kind, "intervals", 30)


# --- sets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("within", ["intervals", "nested"])
def test_every_secret_has_the_set_of_its_own_counts(within):
    """As counted by itself, with half of the doubt: no code about several secrets has a part in that."""
    array = np.random.default_rng(3).integers(0, 90, size=(2, 3, 2, 2))
    joint = pf.Joint(array, secret=["a", "b"]).completed
    over = pf.robust(pf.Promises(a=pf.LIP(0.5), b=pf.LDP(0.5)), 0.9, within)
    for (_, (part,)), own in zip(over.possible_clauses(joint), (array.sum(axis=1), array.sum(axis=0)), strict=True):
        alone = pf.Joint(own).completed
        (expected,) = confidence_set(alone, pf.LIP(1.0).views(alone), 1 - 0.1 * (1 - 1e-9) / 2, within)
        for found, wanted in ((part.given, expected.given), (part.prior, expected.prior)):
            assert np.array_equal(found.lower, wanted.lower)
            assert np.array_equal(found.upper, wanted.upper)
        for found, wanted in zip(part.tables, expected.tables, strict=True):
            assert np.array_equal(found.lower, wanted.lower)
            assert np.array_equal(found.upper, wanted.upper)


def test_clauses_share_the_doubt_unless_they_tell_the_same_events_apart():
    """Of two values, "ill" and "well" are one partition: the set is that of the plain promise, at the whole doubt."""
    joint = pf.Joint([[60, 30, 20], [40, 90, 30]])
    both = pf.robust(pf.LIP({0: 0.5, 1: 1.0}), 0.9, "intervals").possible_clauses(joint)
    (plain,) = pf.robust(pf.LIP(0.5), 0.9, "intervals").possible(joint)
    assert np.allclose(both[0][1][0].prior.upper[0] / SCALE, plain.prior.upper[0] / SCALE, rtol=1e-8)
    assert np.allclose(both[1][1][0].prior.upper[0, ::-1] / SCALE, plain.prior.upper[0] / SCALE, rtol=1e-8)
    three = pf.Joint([[60, 30, 20], [40, 90, 30], [50, 50, 50]])
    borders = pf.robust(pf.Ordered(pf.LIP(0.5)), 0.9, "intervals").possible_clauses(three)
    assert len(borders) == 2
    alone = three.of_events(np.array([0, 1, 1]), [0, 1], "S")
    (expected,) = confidence_set(alone, pf.LIP(1.0).views(alone), 1 - 0.1 * (1 - 1e-9) / 2)
    assert np.array_equal(borders[0][1][0].given.lower, expected.given.lower)


def test_noises_of_events_are_sums_of_noises():
    """An interval for two values together allows for two noises in every cell, as by convolution."""
    rng = np.random.default_rng(4)
    joint = private(pf.Joint(rng.integers(50, 300, size=(3, 2, 3)), secret_values=[0, 1, 2]), 1.0).completed
    event = np.array([0, 1, 1])
    merged = joint.of_events(event, [0, 1], "S")
    assert merged.noise.counts.tolist() == [joint.noise.counts[0].tolist(), joint.noise.counts[1:].sum(axis=0).tolist()]
    assert merged.noise.terms.tolist() == [1, 2]
    (part,) = confidence_set(merged, pf.LIP(1.0).views(merged), 0.9, "nested")
    forgetful = joint.of_events(event, [0, 1], "S")
    object.__setattr__(forgetful.noise, "summed", (1, 1))
    (narrow,) = confidence_set(forgetful, pf.LIP(1.0).views(merged), 0.9, "nested")
    assert (part.given.upper[0, 1] > narrow.given.upper[0, 1]).all()
    assert (part.given.upper[0, 0] == narrow.given.upper[0, 0]).all()
    assert largest_noise(np.array([2]), 2.0, 1e-3)[0] > largest_noise(np.array([1]), 2.0, 1e-3)[0]


def truth(seed):
    return np.random.default_rng(seed).dirichlet(np.full(2 * 2 * 2 * 3, 2.0)).reshape(2, 2, 2, 3)


def missed(n, epsilon, confidence, samples):
    """In how many samples the true distribution lies outside the set of some clause."""
    rng, p, out = np.random.default_rng(6), truth(6), 0
    over = pf.robust(pf.Promises(a=pf.LIP(0.5), b=pf.Belief({0: 0.9})), confidence, "nested")
    for _ in range(samples):
        counts = rng.multinomial(n, p.ravel()).reshape(p.shape)
        joint = pf.Joint(counts, secret=["a", "b"])
        joint = joint if epsilon is None else private(joint, epsilon)
        inside = True
        for (_, (part,)), own in zip(
            over.possible_clauses(joint.completed), (p.sum(axis=1), p.sum(axis=0)), strict=True
        ):
            own = own.reshape(2, -1)
            given, prior = own / own.sum(axis=1, keepdims=True), own.sum(axis=1)
            for ends, share in ((part.given, given), (part.prior, prior)):
                inside &= bool(
                    ((ends.lower[0] <= SCALE * share + 2**20) & (SCALE * share <= ends.upper[0] + 2**20)).all()
                )
        out += not inside
    return out


@pytest.mark.parametrize(("n", "epsilon"), [(300, None), (2_000, 0.5)])
def test_all_sets_hold_the_truth_at_once_as_often_as_is_said(n, epsilon):
    samples = 100
    assert binom.sf(missed(n, epsilon, 0.8, samples) - 1, samples, 0.2) > 1e-4


# --- limits on belief -------------------------------------------------------------------------------------------


def test_a_belief_for_the_population_by_hand():
    """One output that the first value alone gives: P(ill|y) is largest with the most ill people."""
    joint = pf.Joint([[30, 70], [500, 500]], secret_values=["ill", "well"])
    over = pf.robust(pf.Belief({"ill": 0.5}), 0.95)
    ((_, (part,)),) = over.possible_clauses(joint)
    certificate = pf.certify(np.eye(2), joint, over)
    share, found = min(int(part.prior.upper[0, 0]), SCALE - int(part.prior.lower[0, 1])), []
    for x in range(2):
        ill = min(int(part.given.upper[0, 0, x]), SCALE - int(part.given.lower[0, 0, 1 - x]))
        well = max(int(part.given.lower[0, 1, x]), SCALE - int(part.given.upper[0, 1, 1 - x]))
        found.append(Fraction(share * ill, share * ill + (SCALE - share) * well))
    assert certificate.level == pytest.approx(float(max(found)), rel=1e-12)
    assert certificate.level > float(max(found)) * (1 - 1e-12)
    assert pf.certify(np.eye(2), joint, pf.Belief({"ill": 0.5})).level == pytest.approx(70 / 570)


def test_a_limit_that_the_population_may_be_above_by_itself_is_refused():
    joint = pf.Joint([[30, 70], [500, 500]], secret_values=["ill", "well"])
    pf.optimise(joint, pf.Belief({"ill": 0.095}))
    with pytest.raises(InvalidPromise, match=r"up to 1.*% of the population may have S = ill") as refused:
        pf.optimise(joint, pf.robust(pf.Belief({"ill": 0.095})))
    assert "\n" not in str(refused.value)


def test_what_nothing_is_known_of_is_not_certified():
    over = pf.robust(pf.Belief({"ill": 0.5}))
    with pytest.raises(InvalidPromise, match="several values of X"):
        pf.certify(np.ones((1, 1)), pf.Joint([[3], [5]], secret_values=["ill", "well"]), over)
    with pytest.raises(InvalidPromise, match="never is"):
        pf.certify(np.ones((1, 2)), pf.Joint([[3, 3], [5, 5]], secret_values=["sad", "well"]), over)


@pytest.mark.long
@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("within", ["intervals", "nested"])
def test_a_protocol_keeps_each_promise_for_nearly_every_population(within, objective):
    """The truth is known: over samples, promises are broken for it more seldom than 1 in 10."""
    p, rng, broken = truth(7), np.random.default_rng(7), 0
    promise = pf.Promises(a=pf.LIP(0.6), b=pf.Belief({0: 0.8}))
    there = pf.Joint(p, secret=["a", "b"])
    for _ in range(4):
        joint = pf.Joint(rng.multinomial(3_000, p.ravel()).reshape(p.shape), secret=["a", "b"])
        protocol = pf.optimise(joint, pf.robust(promise, 0.9, within), objective=objective, time_limit=4)
        assert pf.certify(protocol, joint).holds
        assert protocol.utility > 0.1
        broken += not pf.certify(protocol, there, promise).holds
    assert broken <= 1


def test_private_fits_promise_several_things_for_the_population():
    p, rng = truth(8), np.random.default_rng(8)
    joint = private(pf.Joint(rng.multinomial(20_000, p.ravel()).reshape(p.shape), secret=["a", "b"]), 1.0)
    promise = pf.Promises(a=pf.LIP(0.6), b=pf.Belief({0: 0.8}))
    for objective in ("information", "faithful"):
        protocol = pf.optimise(joint, pf.robust(promise), objective=objective, time_limit=4)
        assert protocol.notion.within == "nested"
        assert pf.certify(protocol, joint).holds
        assert pf.certify(protocol, pf.Joint(p, secret=["a", "b"]), promise).holds
        assert protocol.utility > 0.1


def test_bounds_over_a_nested_set_are_those_of_any_clause_alone():
    """One secret of two values: the promise of one part is the plain one, and a second part lowers no bound."""
    rng = np.random.default_rng(9)
    array = rng.integers(20, 400, size=(2, 2, 2, 3))
    alone = pf.Joint(array.sum(axis=1), secret="a")
    plain = pf.optimise(alone, pf.robust(pf.LIP(0.3), 0.95))
    one = pf.optimise(alone, pf.robust(pf.Promises(a=pf.LIP(0.3)), 0.95))
    assert one.upper_bound == pytest.approx(plain.upper_bound, abs=2e-3)
    both = pf.optimise(pf.Joint(array, secret=["a", "b"]), pf.robust(pf.Promises(a=pf.LIP(0.3), b=pf.LIP(3.0)), 0.95))
    assert both.utility <= both.upper_bound < both.entropy
    wider = pf.optimise(alone, pf.robust(pf.LIP(0.3), 1 - 0.05 / 2))
    assert both.upper_bound <= wider.upper_bound + 2e-3
    belief = pf.optimise(alone, pf.robust(pf.Belief({0: 0.6}), 0.95))
    assert belief.utility <= belief.upper_bound < belief.entropy
