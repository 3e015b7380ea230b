"""The paper's own methods find what ours finds: they are slower, not worse."""

import ctypes
import importlib.util

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import MissingExtra
from privacyfunnel.paper import reference

if importlib.util.find_spec("ppl") is None:  # importing it here would change how floats are rounded
    pytest.skip("pplpy, which lists vertices exactly, is not installed", allow_module_level=True)


def test_listing_vertices_leaves_the_rounding_of_floats_alone():
    reference.best_lip(pf.Joint([[1, 2], [2, 1]]), 0.5)
    assert 0.1 + 0.2 == 0.30000000000000004
    assert 1 / 3 + 1 / 3 == 2 / 3
    assert ctypes.CDLL(None).fegetround() == reference.TO_NEAREST


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.5])
def test_the_best_channel_of_all_vertices_is_ours(seed, epsilon):
    joint = pf.Joint(np.random.default_rng(seed).random((2, 4)))
    channel, utility = reference.best_ldp(joint, epsilon)
    assert utility == pytest.approx(pf.optimise(joint, pf.LDP(epsilon)).utility, abs=3e-8)
    assert pf.LDP(epsilon).level(joint, channel) <= epsilon + 1e-9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(2, 5), (3, 6)])
def test_vertices_of_delta_and_a_linear_program_give_ours(seed, shape):
    joint = pf.Joint(np.random.default_rng(seed).random(shape))
    channel, utility = reference.best_lip(joint, 0.3)
    assert utility == pytest.approx(pf.optimise(joint, pf.LIP(0.3)).utility, abs=3e-8)
    assert pf.LIP(0.3).level(joint, channel) <= 0.3 + 1e-7


def test_without_pplpy_the_way_to_get_it_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ppl", None)
    with pytest.raises(MissingExtra, match=r"privacyfunnel\[paper\]"):
        reference.best_lip(pf.Joint([[1, 2], [2, 1]]), 0.5)
