"""How far inside its promise a model's rows are redrawn follows from its noisy tables, by the same rehearsals."""

import math

import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks.own_people import own_people
from privacyfunnel.cli.aimed import Aimed
from privacyfunnel.optimiser.rehearsal import SHARES, aim_for, rehearsals, remedies
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.tables.wide.fit import fit_wide, published_tables

PROMISE, NAMES, SIZES = pf.LIP(0.5), list("abcdef"), (3, 4, 5, 3, 4, 6)


def in_time():
    """There is time for all rehearsals."""
    return False


def table(people, seed=0):
    """Counts of six columns that lean on a secret."""
    rng = np.random.default_rng(seed)
    lean = rng.normal(size=people)
    columns = [np.clip((lean + rng.normal(size=people) + 2) / 4 * size, 0, size - 1).astype(int) for size in SIZES]
    ill = rng.random(people) < 1 / (1 + np.exp(1 - lean))
    rows = {name: column.tolist() for name, column in zip(NAMES, columns, strict=True)}
    frame = pa.table(rows | {"ill": ill.astype(int).tolist()})
    return pf.Joint.from_table(frame, "ill", NAMES, bins=dict.fromkeys(NAMES, "each"))


@pytest.fixture(scope="module")
def small():
    """A model of few people with little to go by, whose tables were drawn once."""
    return fit_wide(table(4_000), PROMISE, 0.2, seconds=0)


@pytest.fixture(scope="module")
def published(small):
    return published_tables(small)


def test_a_model_aims_inside_as_listed_fits_do():
    protocol = fit_wide(table(3_000), PROMISE, 1.0, seconds=30.0)
    assert protocol.notion == PROMISE
    assert protocol.aim.share in SHARES
    assert from_text(to_text(protocol)).aim == protocol.aim
    assert protocol.aim.words(PROMISE, 1.0).startswith(("Promised", "NOT KEPT"))


def test_without_time_or_noise_no_model_is_rehearsed(small):
    assert small.aim is None
    exact = fit_wide(table(500), PROMISE, None, seconds=0)
    assert exact.aim is None
    assert published_tables(exact) is None


def test_the_same_noisy_tables_give_the_same_aim(published):
    one, other = (aim_for(published, PROMISE, in_time) for _ in range(2))
    assert one == other
    assert not one.hurried


def test_more_noise_is_aimed_for_further_inside(published):
    assert rehearsals(published, in_time)[0].people.total == 4_000
    loud, still = (aim_for(published.at(epsilon), PROMISE, in_time) for epsilon in (0.2, 40.0))
    assert still.holds
    assert still.share >= (loud.share if loud.holds else 0.0)
    assert published.at(40.0).noise.variance < published.noise.variance


def test_a_rehearsed_column_less_is_counted_in_tables_of_the_others(published):
    fewer = published.without("c")
    assert fewer.attributes == tuple("abdef")
    assert len(fewer.tables) == math.comb(5, 2)
    assert fewer.weights.sum(dtype=object) == published.weights.sum(dtype=object)
    assert fewer.noise.variance < published.noise.variance
    assert rehearsals(fewer, in_time)[0].people.attributes == fewer.attributes


def test_laplace_noise_is_rehearsed_as_such():
    protocol = fit_wide(table(2_000), PROMISE, 5.0, delta=0, seconds=0)
    published = published_tables(protocol)
    assert (0,) in published.tables
    assert aim_for(published, PROMISE, in_time).share in SHARES
    assert (0,) in published.without("a").tables


def test_what_would_do_is_tried_for_models_too(small, published):
    found = remedies(published, PROMISE, in_time)
    assert all(remedy.aim.holds for remedy in found)
    assert {remedy.left_out for remedy in found} <= {None, *NAMES}
    assert Aimed.of(small, published, 30.0) is None  # which was not rehearsed


def test_rows_of_a_model_land_where_its_plan_says(small):
    exact = table(4_000)
    drawn = small.step.drawn(exact)
    people = exact.weights.astype(np.float64)
    released = drawn.released(people)
    assert released.sum() <= people.sum() * (1 + 1e-9)
    assert released.sum() > 0.9 * people.sum()
    whole = np.bincount(drawn.person, drawn.chance, exact.n_x) + drawn.lost
    assert whole == pytest.approx(np.ones(exact.n_x), abs=1e-6)
    found = own_people(small, exact)
    assert 0 < found.lowest.lift < 1 < found.highest.lift
