"""People released by a model again: with the key the same row, drawn from what is certified; with others, refused."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import privacyfunnel as pf
from drawn_law import law_of_plan
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.keyed_below import KeyedBelow
from privacyfunnel.drawing.persons import Numbers
from privacyfunnel.errors import OverLimit
from privacyfunnel.tables.wide.redrawing import ModelSanitiser
from wide_files import gaussian, wide_protocol

PLAUSIBLE = 1e-6
PROTOCOLS = {
    "pairs": lambda: wide_protocol(seed=2),
    "groups": lambda: wide_protocol(notion=pf.LIP(0.2), secrets=3),
    "list": lambda: wide_protocol(gaussian(level=0.2), pf.LIP(0.2), listed=True),
}


def table(rows=2_000, seed=1):
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, size, rows) for name, size in zip("abc", (3, 2, 4), strict=True)}
    columns["ill"] = rng.integers(0, 2, rows)
    return pd.DataFrame({"id": np.arange(rows), **columns})


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_rows_drawn_with_a_key_have_the_law_of_the_groups(kind):
    protocol, people = PROTOCOLS[kind](), 4_000
    sanitiser, mac = ModelSanitiser(protocol), Mac(bytes(range(16)))
    law = law_of_plan(protocol.by_model.plan)
    for x in range(0, protocol.step.n_outputs, 5):
        y, marks = sanitiser.keyed_outputs(np.full((people, 1), x, dtype=np.int32), Numbers(np.arange(people)), mac)
        expected = np.array([float(Fraction(law[(c,)][x])) if (c,) in law else 0.0 for c in range(24)])
        found = np.bincount(y[:, 0], minlength=24)
        assert not found[expected == 0].any()
        often = expected * people > 10
        found, expected = (np.append(each[often], each[~often].sum()) for each in (found, expected * people))
        enough = expected > 10  # the rest, where it is large
        assert (
            chisquare(found[enough], expected[enough] / expected[enough].sum() * found[enough].sum()).pvalue > PLAUSIBLE
        )
        assert len(np.unique(marks)) == people


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_the_same_person_has_the_same_row_whoever_is_beside_them(kind, tmp_path):
    protocol, people = PROTOCOLS[kind](), table()
    key = {"remember": tmp_path / "people.key", "person": "id"}
    first = protocol.sanitise(people, keep_order=True, **key)
    again = protocol.sanitise(people[::-1].iloc[:1_500], keep_order=True, **key)
    assert again.to_numpy().tolist() == first[::-1].iloc[:1_500].to_numpy().tolist()
    other = protocol.sanitise(people, keep_order=True, remember=tmp_path / "other.key", person="id")
    assert other.to_numpy().tolist() != first.to_numpy().tolist()


def test_what_another_protocol_adds_to_a_model_is_not_added_up(tmp_path):
    key = {"remember": tmp_path / "people.key", "person": "id"}
    wide_protocol().sanitise(table(20_000), **key)
    with pytest.raises(OverLimit, match="cannot be computed: this protocol is of a model"):
        wide_protocol(seed=5).sanitise(table(20_000), **key)


def test_numbers_below_a_bound_are_uniform_and_of_two_draws_independent():
    people = 30_000
    chance = KeyedBelow(Mac(b"k" * 16), Numbers(np.arange(people)), np.full(people, 7))
    rows = np.arange(people)
    bounds = np.full(people, 5)
    one, two = (chance(bounds, rows, draw) for draw in (0, 1))
    assert chisquare(np.bincount(one * 5 + two, minlength=25)).pvalue > PLAUSIBLE
    large = np.full(people, 3 * 2**59)  # one word in sixteen or so is passed over
    assert abs((chance(large, rows, 0) < large // 3).mean() - 1 / 3) < 0.02
    part = chance(bounds[:10], rows[100:110], 1)
    assert part.tolist() == two[100:110].tolist()
