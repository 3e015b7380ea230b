"""Promises about several secrets for the population: what they keep over nested sets, over intervals, with noise."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd

import privacyfunnel as pf
from privacyfunnel.population import people
from privacyfunnel.tables.private_counts import private

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult.csv.gz"
BINS = {"age": [0, 40, 60, 120]}
ADULT_BINS = {"education_num": [1, 9, 11, 13, 16]}
EPSILON = 0.5
SECONDS = 20.0
"""For each search."""


def run() -> list[dict[str, object]]:
    return [row for name, joint in tables() for row in measured(name, joint)]


def tables() -> list[tuple[str, pf.Joint]]:
    """The demo's population with obesity and age as secrets; Adult with income and sex, where it is there."""
    demo = pd.DataFrame(people(20_000, seed=1))
    found = [
        ("demo: sex, town", pf.Joint.from_table(demo, ["obese", "age"], ["sex", "town"], bins=BINS)),
        ("demo: sex, town, height", pf.Joint.from_table(demo, ["obese", "age"], ["sex", "town", "height"], bins=BINS)),
    ]
    if ADULT.exists():
        columns = ["education_num", "marital_status", "race"]
        joint = pf.Joint.from_table(ADULT, ["income", "sex"], columns, bins=ADULT_BINS)
        found.append((f"Adult: {', '.join(columns)}", joint))
    return found


def measured(name: str, joint: pf.Joint) -> list[dict[str, object]]:
    """What each way keeps of a table."""
    each = pf.Promises({secret: pf.LIP(EPSILON) for secret in joint.secret_names})
    ways: dict[str, tuple[pf.Joint, pf.Notion]] = {
        "counts alone": (joint, each),
        "nested": (joint, pf.robust(each, within="nested")),
        "intervals": (joint, pf.robust(each, within="intervals")),
        "nested, noisy counts": (private(joint, 1.0), pf.robust(each)),
    }
    return [_row(name, way, *asked) for way, asked in ways.items()]


def _row(name: str, way: str, joint: pf.Joint, notion: pf.Notion) -> dict[str, object]:
    begun = time.process_time()
    told = pf.optimise(joint, notion, time_limit=SECONDS, gap=1e-3)
    seconds = time.process_time() - begun
    countable = pf.optimise(joint, notion, objective="faithful", time_limit=SECONDS)
    return {
        "table": name,
        "values": joint.n_x,
        "promise": way,
        "information": told.utility / joint.entropy,
        "at most": told.upper_bound / joint.entropy,
        "cells": 0.0 if countable.likeness is None else countable.likeness.cells_unchanged,
        "certified": pf.certify(told, joint).holds and pf.certify(countable, joint).holds,
        "CPU seconds": seconds,
    }
