"""A made-up population: people who do not exist, drawn from a model that is written down here."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import NDArray

TOWNS = ("Ashford", "Birch Hill", "Clayton", "Dunmore", "Eastlake")
TOWN_SHARES = (0.34, 0.26, 0.18, 0.13, 0.09)
"""Uneven, as towns are."""
TOWN_EXTRA_BMI = (0.0, 0.4, -0.6, 1.2, 0.1)
"""How much heavier the people of each town are, in kg/m²: towns tell a little about the secret."""
OBESE = 30.0
"""From this body-mass index on, in kg/m²."""


def people(n: int, seed: int) -> dict[str, NDArray[np.generic]]:
    """N people as columns. Height follows sex; body-mass index follows age and town; weight follows both.

    The secret, obese, is whether weight / height² reaches 30 kg/m²: height alone hardly tells, weight
    alone tells much, both together tell all.
    """
    rng = np.random.default_rng(seed)
    sex = rng.random(n) < 0.51
    age = rng.integers(18, 90, n)
    town = rng.choice(len(TOWNS), n, p=TOWN_SHARES)
    height = np.where(sex, rng.normal(166, 6.5, n), rng.normal(179, 7.2, n)).round()
    mean_bmi = 24.2 + 0.045 * np.minimum(age - 18, 45) + np.array(TOWN_EXTRA_BMI)[town]
    bmi = np.maximum(15.5, mean_bmi * np.exp(rng.normal(0, 0.155, n)))
    weight = (bmi * (height / 100) ** 2).round()
    obese = weight / (height / 100) ** 2 >= OBESE
    return {
        "name": np.array([f"Person {i + 1}" for i in range(n)]),
        "sex": np.where(sex, "female", "male"),
        "age": age,
        "town": np.array(TOWNS)[town],
        "height": height.astype(np.int64),
        "weight": weight.astype(np.int64),
        "obese": np.where(obese, "yes", "no"),
    }


def as_csv(columns: dict[str, NDArray[np.generic]]) -> str:
    """The columns as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    return text.getvalue()
