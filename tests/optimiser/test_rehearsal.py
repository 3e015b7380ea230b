"""How far inside its promise a private fit is made follows from its published counts, and holds for other people."""

import math
from dataclasses import replace

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks.own_people import own_people
from privacyfunnel.cli.aimed import Aimed
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.optimiser.aiming import optimise_inside, rehearsing
from privacyfunnel.optimiser.improving import improve
from privacyfunnel.optimiser.learned_beliefs import beliefs
from privacyfunnel.optimiser.rehearsal import SHARES, aim_for, rehearsals, remedies
from privacyfunnel.optimiser.rehearsed_cells import PublishedCells, drawn
from privacyfunnel.optimiser.rehearsed_lifts import clauses_of, groups_found, share_within, together
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.aim import Aim
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.tables.private_counts import private

PROMISE = pf.LIP(0.5)


def in_time():
    """There is time for all rehearsals."""
    return False


def table(people, seed=0, n=40):
    """Exact counts in which the secret leans on X."""
    rng = np.random.default_rng(seed)
    x = rng.dirichlet(np.full(n, 0.5))
    lean = rng.beta(1, 2, n)
    counts = rng.multinomial(people, np.concatenate([x * lean, x * (1 - lean)])).reshape(2, n)
    return pf.Joint(counts + (counts.sum(axis=0) == 0))


def cells(joint, make=None):
    """What is published of a table."""
    return PublishedCells.of(joint, make or rehearsing("faithful", 30.0, None))


def noisy(joint, epsilon, seed, noise_with_seed, at_least=10):
    with noise_with_seed(seed):
        return private(joint, epsilon, at_least=at_least)


def inside(joint, promise=PROMISE, **asked):
    return optimise_inside(joint, promise, objective="faithful", time_limit=30.0, **asked)


@pytest.fixture(scope="module")
def small(noise_with_seed):
    """The noisy counts of few people."""
    return noisy(table(2_000), 0.5, 1, noise_with_seed)


def test_few_people_are_aimed_for_further_inside_than_many(noise_with_seed):
    many = noisy(table(2_000_000), 0.5, 1, noise_with_seed)
    assert inside(many).aim.share == 1
    assert inside(noisy(table(500), 0.5, 1, noise_with_seed)).aim.share < 1


def test_the_same_published_counts_give_the_same_aim_and_file(small):
    assert to_text(inside(small)) == to_text(inside(small))


def test_the_channel_keeps_what_it_aims_at_and_promises_the_whole(small):
    protocol = inside(small)
    assert protocol.notion == PROMISE
    assert certify(protocol, small)
    assert certify(replace(protocol, notion=protocol.aim.inside(PROMISE)), small)


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_an_attacker_finds_among_the_people_are_within_the_promise(seed, noise_with_seed):
    exact = table(20_000, seed)
    published = noisy(exact, 0.5, seed, noise_with_seed)
    protocol = inside(published)
    assert protocol.aim.holds
    found = own_people(protocol, exact)
    assert not found.beyond
    assert found.within > 0.9
    assert found.lowest.least <= found.lowest.lift <= found.highest.lift <= found.highest.most


def test_without_an_aim_they_are_not(noise_with_seed):
    exact = table(40_000, 3, 400)
    published = noisy(exact, 0.1, 3, noise_with_seed, at_least=0)
    assert own_people(pf.optimise(published, PROMISE, objective="faithful", time_limit=30.0), exact).beyond


@pytest.mark.parametrize("promise", [pf.robust(PROMISE, 0.95), pf.PerfectPrivacy()])
def test_what_needs_no_aim_has_none(promise, small):
    assert aim_for(cells(small), promise, in_time) is None
    assert inside(table(2_000)).aim is None


@pytest.mark.parametrize("promise", [pf.LDP(0.5), pf.ALIP(0.5, 1.0), pf.PML(0.5), pf.Belief({0: 0.6})])
def test_every_promise_about_rows_is_aimed_inside_of(promise, small):
    protocol = inside(small, promise)
    assert protocol.aim.share in SHARES
    assert protocol.notion.as_dict() == promise.made_for(small).as_dict()


def test_without_time_nothing_is_rehearsed(small):
    assert aim_for(cells(small), PROMISE, lambda: True) is None
    assert remedies(cells(small), PROMISE, lambda: True) == []


def test_an_aim_that_the_clock_had_a_say_in_says_so(noise_with_seed):
    few = noisy(table(500), 0.5, 1, noise_with_seed)
    make, times = rehearsing("faithful", 30.0, None), iter([False] * 3)
    assert not aim_for(cells(few, make), PROMISE, in_time).hurried
    cut = aim_for(
        cells(few, make), PROMISE, lambda: next(times, True)
    )  # after drawing two tables and all of the promise
    assert (cut.share, cut.holds, cut.hurried) == (1, False, True)

    def late_once(joint, notion):
        return make(joint, notion)[0], notion.epsilon == PROMISE.epsilon

    found = aim_for(cells(few, late_once), PROMISE, in_time)
    assert found.share < 1
    assert found.hurried


def test_a_rehearsed_protocol_that_ran_out_of_time_is_said_to_have_however_near_it_is(small):
    assert rehearsing("faithful", 30.0, None)(small, PROMISE)[1] is False
    assert rehearsing("faithful", 0.0, None)(small, pf.LIP(20.0))[1] is True


def test_drawn_tables_are_of_as_many_people_and_use_published_numbers_only(small):
    blind = replace(small.noise, counts=small.noise.counts.copy())
    (people, refit), (others, again) = drawn(small, small.noise, 1), drawn(small, blind, 1)
    assert people.total == small.noise.people
    assert np.array_equal(people.weights, others.weights)
    assert np.array_equal(refit.noise.counts, again.noise.counts)
    one, other = (rehearsals(cells(small), in_time)[0] for _ in range(2))
    assert np.array_equal(one.people.weights, other.people.weights)


def test_noise_of_rehearsals_has_the_scale_of_the_published_noise(small):
    wide = replace(small.noise, epsilon=0.2)
    people, refit = drawn(small, wide, 1)
    counts = np.zeros(small.noise.counts.shape)
    counts[:, people.codes[:, 0]] = people.weights
    assert 0.7 < np.abs(refit.noise.counts - counts).mean() / wide.scale < 1.3  # E|z| is the scale, of 80 cells


def test_the_file_says_what_was_aimed_at(small):
    protocol = inside(small)
    again = from_text(to_text(protocol))
    assert again.aim == protocol.aim
    assert again.notion == PROMISE
    for share in (0.0, 1.5, math.nan):
        with pytest.raises((InvalidProtocol, ValueError)):
            from_text(to_text(replace(protocol, aim=replace(protocol.aim, share=share))))
    exact = replace(pf.optimise(table(2_000), PROMISE), aim=protocol.aim)
    with pytest.raises(InvalidProtocol, match="private fit"):
        from_text(to_text(exact))


def test_a_protocol_is_improved_inside_its_aim(small):
    protocol = inside(small)
    better = improve(protocol, time_limit=10.0)
    assert (better.aim, better.notion) == (protocol.aim, PROMISE)
    assert certify(replace(better, notion=protocol.aim.inside(PROMISE)), small)


def test_what_would_do_is_said_where_no_aim_does(noise_with_seed):
    rng = np.random.default_rng(5)
    counts = rng.multinomial(1_500, rng.dirichlet(np.full(2 * 12 * 10, 0.3))).reshape(2, 12, 10)
    published = noisy(pf.Joint(counts), 0.1, 2, noise_with_seed, at_least=0)
    aim = inside(published).aim
    assert not aim.holds
    assert aim.words(PROMISE, 0.1).startswith("NOT KEPT")
    found = remedies(cells(published), PROMISE, in_time)
    assert all(remedy.aim.holds for remedy in found)
    assert {remedy.private for remedy in found} <= {None, 0.2, 0.4}
    assert {remedy.left_out for remedy in found} <= {None, *published.attributes}


def test_without_time_to_try_nothing_is_said_of_what_would_not_do(small):
    failed = replace(inside(small), aim=Aim(0.2, 0.9, 0.4, 2.0, holds=False))
    (told,) = Aimed.of(failed, cells(small), 0.0).lines(failed)
    assert "not all tried in the time limit" in told
    assert "No single column less" not in told
    assert Aimed.of(failed, cells(small), 0.0).as_dict()["all_remedies_tried"] is False


def test_lifts_beyond_the_promise_are_counted_by_people():
    joint = pf.Joint([[900, 4_000], [100, 5_000]])
    protocol = pf.optimise(joint, pf.LIP(5.0), objective="faithful")  # rows stay as they are
    clauses = clauses_of(pf.LIP(0.5), joint)
    assert share_within(protocol.step.drawn(joint), joint.total, clauses) == pytest.approx(0.9)
    few = pf.Joint([[9, 4_000], [1, 5_000]])  # of ten people, nine of whom happen to share a secret
    assert share_within(protocol.step.drawn(few), few.total, clauses_of(pf.LIP(0.5), few)) == pytest.approx(1.0)


def test_an_attacker_finds_the_rows_that_tell():
    joint = pf.Joint([[900, 4_000], [100, 5_000]])
    protocol = pf.optimise(joint, pf.LIP(5.0), objective="faithful")
    found = together(
        [groups_found(protocol.step.drawn(joint), clauses_of(pf.LIP(0.5), joint), np.random.default_rng(1))]
    )
    lifts = {(group.about, group.first): group.lift for group in found}
    assert lifts[0, False] == pytest.approx(0.9 / 0.49, rel=0.05)
    assert lifts[1, True] == pytest.approx(0.1 / 0.51, rel=0.25)
    assert not all(group.within for group in found)


def test_an_attacker_learns_main_effects_of_outputs_with_few_people():
    codes = np.array([[i, j] for i in range(4) for j in range(4)])
    chance = 1 / (1 + np.exp(-(codes[:, 0] + codes[:, 1] - 3)))
    people = np.full(16, 1_000.0)
    people[-1] = 0.0
    found = beliefs(np.stack([people * chance, people * (1 - chance)]), codes)
    assert found[0, -1] == pytest.approx(chance[-1], abs=0.02)
    assert found.sum(axis=0) == pytest.approx(np.ones(16), abs=1e-6)
