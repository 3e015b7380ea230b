"""How a model's P(s|x) is compared with who has the secret: right ones pass, wrong ones are off by their factor."""

import numpy as np
import pytest

from privacyfunnel.attacks.on_wide import Calibrated, calibration_of

SURE = 3.0
LEAST = (0.1, 0.1)


def people(number=40_000, seed=1):
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.05, 0.95, number)
    return chance, rng.random(number) < chance


def worst(predicted, secret):
    return max(one.off(LEAST, SURE) for one in calibration_of(predicted, secret))


def test_the_true_probabilities_are_not_called_off():
    assert worst(*people()) < 1.02


def test_probabilities_that_are_too_extreme_are_called_off():
    chance, secret = people()
    odds = (chance / (1 - chance)) ** 2
    assert worst(odds / (1 + odds), secret) > 1.16


def test_people_whom_the_model_tells_alike_are_not_divided_by_their_secrets():
    secret = np.repeat([False, True], [3_000, 1_000])
    groups = calibration_of(np.full(4_000, 0.25), secret)
    assert len(groups) == 20
    assert all(one.found == pytest.approx(0.25, abs=0.15) for one in groups)
    assert max(one.off(LEAST, SURE) for one in groups) < 1.1


def test_what_chance_can_do_to_a_few_people_is_not_held_against_a_model():
    assert Calibrated(0.5, 0.3, 0.1).off(LEAST, SURE) == 1.0
    assert Calibrated(0.5, 0.3, 0.01).off(LEAST, SURE) > 1.4


def test_shares_that_may_not_be_told_anyway_are_not_compared():
    assert Calibrated(0.001, 0.03, 0.0).off((0.6, 0.14), SURE) == pytest.approx(0.999 / 0.97)
    assert np.isfinite(Calibrated(0.0, 1.0, 0.0).off((0.0, 0.0), SURE))
