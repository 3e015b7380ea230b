"""Models: a joint over the whole domain, and small tables of whole numbers from which everybody gets the same one."""

import json
from fractions import Fraction

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.pair_model import PairModel, pair_model
from privacyfunnel.errors import InvalidDomain, InvalidJoint

SIZES = (3, 2)
P = np.array([[0.1, 0.2], [0.0, 0.3], [0.15, 0.25]])
B = np.array([[0.5, 0.1], [0.9, 0.3], [0.2, 0.7]])


class Listed:
    def p_x(self, codes):
        return 7 * P[tuple(codes.T)]

    def p_s_given_x(self, codes):
        second = B[tuple(codes.T)]
        return np.stack([1 - second, second])


def test_a_model_becomes_the_joint_of_its_whole_domain():
    joint = pf.Joint.from_model(
        Listed(), {"size": ["small", "middle", "large"], "colour": ["red", "blue"]}, secret="ill"
    )
    assert joint.attributes == ("size", "colour")
    assert joint.n_x == 5  # what cannot occur is left out
    there = P.ravel() > 0
    np.testing.assert_allclose(joint.p_x, P.ravel()[there], rtol=1e-12)
    np.testing.assert_allclose(joint.p_s_given_x[1], B.ravel()[there], rtol=1e-12)
    assert joint.values[0].tolist() == ["small", "red"]
    assert not joint.counted


def test_a_protocol_can_be_fitted_on_a_model():
    joint = pf.Joint.from_model(Listed(), {"size": [1, 2, 3], "colour": ["red", "blue"]})
    protocol = pf.optimise(joint, pf.LIP(0.3))
    assert pf.certify(protocol, joint).holds


def test_a_model_may_have_any_number_of_secrets():
    class Three(Listed):
        def p_s_given_x(self, codes):
            second = B[tuple(codes.T)]
            return np.stack([1 - second, 0.75 * second, 0.25 * second])

    joint = pf.Joint.from_model(Three(), {"size": [1, 2, 3], "colour": ["red", "blue"]}, secret_values="abc")
    assert joint.n_s == 3
    np.testing.assert_allclose(joint.p_s_given_x[2], 0.25 * B.ravel()[P.ravel() > 0], rtol=1e-12)
    for objective in ("information", "faithful"):
        protocol = pf.optimise(joint, pf.LDP(0.3), objective=objective)
        assert pf.certify(protocol, joint).holds


def test_a_domain_gives_the_columns_and_the_values_of_the_secret():
    columns = [
        {"name": "ill", "kind": "text", "values": ["no", "yes"]},
        {"name": "size", "kind": "integer", "values": [1, 2, 3]},
        {"name": "colour", "kind": "text", "values": ["red", "blue"]},
    ]
    domain = pf.Domain.from_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": columns}))
    joint = pf.Joint.from_model(Listed(), domain, secret="ill")
    assert joint.secret_values == ("no", "yes")
    assert joint.attributes == ("size", "colour")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p_x": lambda codes: np.ones(3)}, "shapes"),
        ({"p_x": lambda codes: -np.ones(len(codes))}, "negative"),
        ({"p_s_given_x": lambda codes: np.ones((2, len(codes)))}, "sum to 1"),
        ({"p_x": lambda codes: np.zeros(len(codes))}, "zero everywhere"),
    ],
)
def test_a_model_that_gives_no_probabilities_is_refused_in_a_line(change, words):
    model = Listed()
    for name, function in change.items():
        setattr(model, name, function)
    with pytest.raises(InvalidJoint, match=words):
        pf.Joint.from_model(model, {"size": [1, 2, 3], "colour": ["red", "blue"]})


def test_a_domain_that_is_too_large_or_contradicts_itself_is_refused():
    with pytest.raises(InvalidJoint, match="combinations of values"):
        pf.Joint.from_model(Listed(), {"a": range(4_000), "b": range(4_000)})
    with pytest.raises(InvalidDomain, match="different"):
        pf.Joint.from_model(Listed(), {"a": [1, 1, 2], "b": ["x", "y"]})
    with pytest.raises(InvalidDomain, match="no columns"):
        pf.Joint.from_model(Listed(), {})


def small_model():
    rng = np.random.default_rng(0)
    sets = [(0,), (0, 1), (1, 2)]
    sizes = (3, 2, 4)
    tables = [rng.uniform(0.01, 3, (2, *(sizes[j] for j in own))) for own in sets]
    return pair_model(sizes, sets, tables), tables


def test_weights_are_the_product_of_the_tables_rounded_down():
    model, _ = small_model()
    weights = model.weights()
    for s in range(2):
        for number, codes in enumerate(np.ndindex(*model.sizes)):
            exact = Fraction(2) ** model.exponent
            for own, table in zip(model.sets, model.tables, strict=True):
                exact *= Fraction(int(table[(s, *(codes[j] for j in own))]), 2**30)
            assert abs(int(weights[s, number]) - exact) <= 1 + exact * Fraction(1, 2**48)
    assert 2**59 <= weights.sum() < 2**60


def test_a_model_of_pairs_is_a_model():
    model, tables = small_model()
    joint = pf.Joint.from_model(model, {"a": range(3), "b": range(2), "c": range(4)})
    expected = np.einsum("sa,sab,sbc->sabc", *tables).reshape(2, -1)
    np.testing.assert_allclose(joint.p, expected / expected.sum(), rtol=1e-6)


def test_tables_that_do_not_fit_are_refused():
    good = np.full((2, 3), 5)
    PairModel((3,), ((0,),), (good,), 40)
    for sizes, sets, tables, exponent in (
        ((3,), ((0,),), (good * 0,), 40),
        ((3,), ((0,),), (good * 2**31,), 40),
        ((4,), ((0,),), (good,), 40),
        ((3,), ((1,),), (good,), 40),
        ((3,), ((0,),), (good,), 1000),
        ((3,), (), (), 40),
        ((3,), ((0,),), (good * 1.0,), 40),
    ):
        with pytest.raises(InvalidJoint):
            PairModel(sizes, sets, tables, exponent)


def test_weights_that_would_overflow_are_refused():
    with pytest.raises(InvalidJoint, match="too large"):
        PairModel((3,), ((0,),), (np.full((2, 3), 2**30),), 61).weights()
