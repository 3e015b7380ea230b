"""The theorem of filled columns, in practice: an attacker who learns from examples finds no more in whole rows."""

import numpy as np
import pyarrow as pa
import pytest

from filled_people import filled, kept, people
from privacyfunnel.attacks import learned

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


def gains(features, more, secret):
    """What further columns lower the loss by, in standard errors, for each model."""
    fold = learned._folds(secret, learned.FOLDS, np.random.default_rng(1))
    whole = np.column_stack([features, *more])
    for few, all_of_it in zip(losses(features, secret, fold), losses(whole, secret, fold), strict=True):
        gain = few - all_of_it
        yield gain.mean() / (gain.std() / np.sqrt(len(gain)))


@pytest.fixture(scope="module")
def released(noise_with_seed):
    """A table in which a filled column all but tells the secret, and a release of it in the same order."""
    table = people(3_000)
    ill = np.array(table["ill"].to_pylist()) == "yes"
    told = np.where(np.random.default_rng(2).random(len(table)) < 0.1, ~ill, ill)
    table = table.set_column(table.schema.get_field_index("job"), "job", pa.array(np.where(told, "x", "y")))
    with noise_with_seed(3):
        protocol = filled(table, kept(table), names=FILLED)
    rows = protocol.sanitise(table, seed=5, keep_order=True)
    own = np.column_stack([c.encode(rows[c.name].combine_chunks()) for c in protocol.columns])
    return table, rows, own, ill.astype(np.int64)


def test_whole_rows_tell_a_learned_attacker_no_more_than_their_kept_columns(released):
    _, rows, own, secret = released
    more = [numbered(rows[name]) for name in (*FILLED, "age")]
    assert max(gains(own, more, secret)) < 3


def test_the_same_attacker_finds_more_if_a_filled_column_is_the_persons_own(released):
    table, _, own, secret = released
    assert min(gains(own, [numbered(table["job"])], secret)) > 10
