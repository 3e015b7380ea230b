"""Names in promises: of values, of secrets. What was meant is found, or the promise is refused; nothing is guessed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidPromise, InvalidProtocol
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.protocols.file import from_text, to_text

COUNTS = np.array([[40, 10, 3], [10, 40, 5], [20, 5, 30]])


def joint_of(*values):
    return pf.Joint(COUNTS, secret="h", secret_values=values)


@pytest.mark.parametrize("way", [pf.optimise, lambda joint, promise: pf.certify(np.eye(3), joint, promise)])
def test_a_limit_on_belief_in_a_value_that_nobody_has_is_refused_and_not_kept_by_default(way):
    with pytest.raises(InvalidPromise, match="'il', which the secret 'h' never is"):
        way(joint_of("ill", "well", "odd"), pf.Belief({"il": 0.9}))


@pytest.mark.parametrize(
    ("values", "promise"),
    [
        ((None, "missing", "x"), pf.Belief({"missing": 0.9})),
        ((None, "missing", "x"), pf.LIP({None: 0.1, "missing": 1.0, "x": 1.0})),
        ((1, "1", "x"), pf.Belief({"1": 0.9})),
        ((("a and b", "c"), ("a", "b and c"), ("x", "y")), pf.Belief({"a and b and c": 0.9})),
    ],
)
@pytest.mark.parametrize("way", [pf.optimise, lambda joint, promise: pf.certify(np.eye(3), joint, promise)])
def test_a_text_that_several_values_are_written_as_names_none_of_them(values, promise, way):
    with pytest.raises(InvalidPromise, match="several values of the secret 'h' are written"):
        way(joint_of(*values), promise)


def test_a_value_named_twice_in_different_ways_is_refused_also_by_the_certificate():
    with pytest.raises(InvalidPromise, match="given twice"):
        pf.certify(np.eye(3), joint_of(1, 2, 3), pf.LIP({1: 0.1, "1": 9.0, 2: 9.0, 3: 9.0}))


@pytest.mark.parametrize("kind", [pf.LIP, pf.PML])
def test_levels_for_values_of_several_columns_together_are_written_and_read(kind):
    joint = pf.Joint(np.arange(1, 13).reshape(2, 2, 3), secret=["a", "b"])
    levels = {(a, b): 0.1 + a + b for a in range(2) for b in range(2)}
    for promise in (kind(levels), pf.Belief({(0, 1): 0.9})):
        protocol = pf.optimise(joint, promise)
        again = from_text(to_text(protocol))
        assert again.notion == protocol.notion
        assert pf.certify(again, joint).holds


@pytest.mark.parametrize("values", [(30, 10, 20), (1.5, 1.0, 2.0), (1, "two", 3)])
def test_numbers_that_are_not_listed_in_their_order_have_no_borders(values):
    for way in (pf.optimise, lambda joint, promise: pf.certify(np.eye(3), joint, promise)):
        with pytest.raises(InvalidPromise, match="not listed in their order"):
            way(joint_of(*values), pf.Ordered(pf.LIP(0.3)))


def test_dates_have_borders_and_texts_have_none():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "born": [f"{rng.choice([1950, 1970, 1990])}-05-{rng.integers(10, 28)}" for _ in range(400)],
            "town": rng.choice(["A", "B"], size=400),
        }
    )
    joint = pf.Joint.from_table(table, "born", ["town"], dates={"born": "year"})
    certificate = pf.certify(pf.optimise(joint, pf.Ordered(pf.LIP(0.1))), joint)
    assert certificate.holds
    assert [one.subject for one in certificate.levels] == ["born, by borders"]
    towns = pf.Joint.from_table(table, "town", ["born"], dates={"born": "year"})
    with pytest.raises(InvalidPromise, match="no numbers or dates"):
        pf.certify(np.eye(3), towns, pf.Ordered(pf.LIP(0.1)))


def test_two_promises_about_one_secret_are_refused():
    with pytest.raises(InvalidPromise, match="about the same secret"):
        pf.Promises.of((("a", pf.LIP(0.1)), ("a", pf.LIP(9.0))))


def test_a_file_that_gives_one_secret_the_promise_of_another_is_refused():
    """The public audit knows secrets by their places alone: swapped names would be believed."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({name: rng.choice(["u", "v"], size=2000) for name in ("a", "b", "x", "y")})
    joint = pf.Joint.from_table(table, ["a", "b"], ["x", "y"], private=1.0)
    protocol = pf.optimise(joint, pf.Promises(a=pf.LIP(0.01), b=pf.LIP(2.0)))
    assert audit_publicly(from_text(to_text(protocol)))[1].holds
    swapped = pf.Promises.of((("b", pf.LIP(0.01)), ("a", pf.LIP(2.0))), protocol.notion.sizes)
    assert audit_publicly(replace(protocol, notion=swapped))[1].holds
    with pytest.raises(InvalidProtocol, match="in their order"):
        from_text(to_text(replace(protocol, notion=swapped)))
