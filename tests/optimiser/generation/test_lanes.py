"""Proofs and local searches share their work among threads; what comes of it is the same to the last bit."""

import os
import threading

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.numeric import cores
from privacyfunnel.optimiser.generation import branch
from privacyfunnel.optimiser.generation.branch import LANES, Tree
from privacyfunnel.optimiser.generation.pricing import Oracle, essential, extremes
from privacyfunnel.optimiser.program.polytope import Polytope

SHAPES = [(2, 4), (2, 2, 3), (3, 2, 2, 2), (2, 3, 3, 4)]


def drawn(shape, epsilon, seed=0):
    joint = pf.Joint(np.random.default_rng(seed).random(shape))
    polytope = Polytope.granted(joint, pf.SRLIP(epsilon))
    return joint, Oracle(Polytope(essential(polytope.G), polytope.p_x))


def tree_with(monkeypatch, threads, shape, epsilon, least, cuts):
    """A tree after so many cuts; r(v) is about `least` at the best of some posteriors."""
    monkeypatch.setattr(cores, "cores", lambda: threads)
    joint, oracle = drawn(shape, epsilon)
    corners, upper = extremes(oracle)
    y = np.random.default_rng(1).normal(size=joint.n_x)
    ends, values = oracle.ends(y, np.vstack([corners, np.random.default_rng(2).dirichlet(np.ones(joint.n_x), 200)]))
    tree = Tree(oracle.rows(), y + values.min() - least, upper, 1e-3)
    tree.grow(cuts)
    return tree, ends, values


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("least", [0.0, -0.2], ids=["proven", "improving"])
def test_a_proof_is_the_same_for_any_number_of_threads(monkeypatch, shape, least):
    alone, ends, values = tree_with(monkeypatch, 1, shape, 0.5, least, 3_000)
    for threads in (2, 3, LANES + 1):
        other, same_ends, same_values = tree_with(monkeypatch, threads, shape, 0.5, least, 3_000)
        assert (alone.bound, alone.cut, alone.n_found) == (other.bound, other.cut, other.n_found)
        assert alone.found[: alone.n_found].tobytes() == other.found[: other.n_found].tobytes()
        assert (ends.tobytes(), values.tobytes()) == (same_ends.tobytes(), same_values.tobytes())
    assert (alone.n_found > 0) == (least < 0)


@pytest.mark.parametrize("late", range(3))
def test_a_proof_is_the_same_when_threads_are_held_up(monkeypatch, late):
    """Lanes end in another order: each time another one sleeps."""
    alone, _, _ = tree_with(monkeypatch, 1, (2, 3, 3, 4), 0.5, 0.0, 1_000)
    turn, honest = iter(range(10**6)), branch.dive

    def held_up(*arguments):
        if next(turn) % 3 == late:
            threading.Event().wait(0.005)
        return honest(*arguments)

    monkeypatch.setattr(branch, "dive", held_up)
    other, _, _ = tree_with(monkeypatch, 2, (2, 3, 3, 4), 0.5, 0.0, 1_000)
    assert (alone.bound, alone.cut) == (other.bound, other.cut)


@pytest.mark.parametrize("shape", [(2, 2, 3), (3, 2, 2, 2), pytest.param((2, 3, 3, 4), marks=pytest.mark.long)])
def test_the_best_protocol_is_the_same_for_one_thread_and_two(monkeypatch, shape):
    joint = pf.Joint(np.random.default_rng(2020).random(shape))
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(cores, "cores", lambda threads=threads: threads)
        found.append(pf.optimise(joint, pf.SRLIP(0.5), gap=1e-3))
    one, two = found
    assert (one.utility, one.upper_bound, one.how) == (two.utility, two.upper_bound, two.how)
    assert one.channel.tobytes() == two.channel.tobytes()


def test_boxes_cover_what_they_were_cut_from():
    """Whatever lanes hand back: a proof that is broken off bounds r at every posterior."""
    joint, oracle = drawn((2, 3, 3, 4), 0.5)
    y = np.full(joint.n_x, 3.0)
    _, values = oracle.ends(y, np.random.default_rng(0).dirichlet(np.ones(joint.n_x), 300))
    tree = Tree(oracle.rows(), y, extremes(oracle)[1], 1e-3)
    before = -np.inf
    for _ in range(20):
        tree.grow(20)
        assert before <= tree.bound <= values.min() + 1e-9
        before = tree.bound


def test_a_full_store_of_boxes_ends_the_proof_with_the_bound_so_far(monkeypatch):
    monkeypatch.setattr(branch, "MEMORY", 100 * 16 * 36)
    joint, oracle = drawn((2, 3, 3, 4), 0.5)
    y = np.full(joint.n_x, 3.0)
    tree = Tree(oracle.rows(), y, extremes(oracle)[1], 1e-3)
    assert not tree.grow(10_000)
    assert -np.inf < tree.bound < -1e-3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(cores, "cores", lambda: 2)
    assert cores.side_by_side(abs, [-1, -2]) == [1, 2]
    child = os.fork()
    if not child:
        os._exit(0 if cores.side_by_side(abs, [-3, -4]) == [3, 4] else 1)
    assert os.waitpid(child, 0)[1] == 0
