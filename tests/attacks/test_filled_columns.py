"""The theorem of filled columns, in practice: an attacker who learns from examples finds no more in whole rows."""

import numpy as np
import pyarrow as pa
import pytest

from filled_people import kept, people
from privacyfunnel.attacks import learned
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.sources import open_source

KEPT, FILLED = ("town", "age"), ("job", "few")


def numbered(column):
    return np.unique(
        np.array(["" if value is None else str(value) for value in column.to_pylist()]), return_inverse=True
    )[1]


def losses(features, secret, fold):
    """−ln of what each model believes of the true secret of every row, which it did not see."""
    at = np.arange(len(secret))
    for make in learned._models().values():
        belief = learned._beliefs(make, features, secret, fold, 2)
        yield -np.log(np.clip(belief[at, secret], learned.SMALLEST_BELIEF, 1.0))


def gains_of_rows(features, more, secret):
    """What further columns lower the loss of each row by, for each model."""
    fold = learned._folds(secret, learned.FOLDS, np.random.default_rng(1))
    whole = np.column_stack([features, *more])
    for few, all_of_it in zip(losses(features, secret, fold), losses(whole, secret, fold), strict=True):
        yield few - all_of_it


def in_errors(gain):
    return gain.mean() / (gain.std() / np.sqrt(len(gain)))


def gains(features, more, secret):
    """The same of all rows, in standard errors."""
    return map(in_errors, gains_of_rows(features, more, secret))


def release_of(noise_with_seed, seed, never=None, n=3_000):
    """A table in which a filled column all but tells the secret, and a release of it in the same order."""
    table = people(n)
    ill = np.array(table["ill"].to_pylist()) == "yes"
    told = np.where(np.random.default_rng(2).random(len(table)) < 0.1, ~ill, ill)
    table = table.set_column(table.schema.get_field_index("job"), "job", pa.array(np.where(told, "x", "y")))
    with noise_with_seed(seed):
        protocol = with_fill(kept(table), open_source(table), list(FILLED), 4.0, never=never)
    rows = protocol.sanitise(table, seed=seed + 2, keep_order=True)
    own = np.column_stack([c.encode(rows[c.name].combine_chunks()) for c in protocol.columns])
    return table, rows, own, ill.astype(np.int64)


@pytest.fixture(scope="module")
def released(noise_with_seed):
    return release_of(noise_with_seed, 3)


def test_whole_rows_tell_a_learned_attacker_no_more_than_their_kept_columns(released):
    _, rows, own, secret = released
    more = [numbered(rows[name]) for name in (*FILLED, "age")]
    assert max(gains(own, more, secret)) < 3


def test_the_same_attacker_finds_more_if_a_filled_column_is_the_persons_own(released):
    table, _, own, secret = released
    assert min(gains(own, [numbered(table["job"])], secret)) > 10


@pytest.mark.long
def test_over_ten_fits_whole_rows_tell_no_more_also_where_some_never_occur(noise_with_seed):
    found = []
    for seed in range(10):
        never = "town = 'b' and job = 'x'" if seed % 2 else None
        _, rows, own, secret = release_of(noise_with_seed, seed, never, 1_200)
        more = [numbered(rows[name]) for name in (*FILLED, "age")]
        found.append(list(gains_of_rows(own, more, secret)))
    for of_model in zip(*found, strict=True):
        assert in_errors(np.mean(of_model, axis=0)) < 3
