"""How sharply readers will know each column is shown before anything is released."""

from types import SimpleNamespace

import numpy as np

import privacyfunnel as pf
from privacyfunnel.protocols.readers import points
from privacyfunnel.studio.knowing import MOST_COMBINATIONS, knowing_part

JOINT = pf.Joint(np.random.default_rng(1).integers(5, 60, size=(2, 3, 4)), attributes=["town", "<sex>"])


def shown(protocol, joint):
    return SimpleNamespace(protocol=protocol, public=None, measured=SimpleNamespace(joint=joint))


def test_errors_of_every_column_are_shown_counted_and_estimated():
    protocol = pf.optimise(JOINT, pf.LIP(0.5), readers="pairs")
    text = knowing_part(shown(protocol, JOINT))
    found = pf.expected_errors(protocol, JOINT)
    towns = [each for each in found.shares if each.attributes == ("town",)]
    assert f"± {points(float(np.median([each.estimated for each in towns])))}" in text
    assert f"± {points(float(np.median([each.counted for each in towns])))}" in text
    assert "&lt;sex&gt;" in text
    assert "<sex>" not in text


def test_what_is_not_told_is_said():
    protocol = pf.optimise(JOINT, pf.LIP(1e-6))
    assert "not told" in knowing_part(shown(protocol, JOINT))


def test_what_would_take_long_is_not_computed():
    joint = pf.Joint(np.ones((2, MOST_COMBINATIONS + 1), dtype=int))
    assert "would take long" in knowing_part(shown(pf.optimise(joint, pf.LIP(1.0)), joint))


def test_without_counts_there_is_nothing_to_show():
    assert knowing_part(SimpleNamespace(public=None, measured=None)) == ""
