"""The tables that the chains work on, and a protocol that nobody searched for."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

import privacyfunnel as pf
from privacyfunnel import population
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol

ROWS = 20_000
"""The demo's own table."""
LAST_YEAR = 19_500
"""Of these people; the others are new."""
MOVED = 0.05
"""The share of people who lived in another town last year."""
ODDS = 256
"""Of 256 rows, so many as there are other combinations become one of these: a channel of halves of halves."""
BETWEEN = 0.365
"""A promise that the given protocol breaks on this year's people, and keeps on last year's."""
RECIPE = """recipe = 1
table = "people.csv"
output = "made"
[fit]
secret = "obese"
columns = ["sex", "town", "height"]
epsilon = 0.5
bins = { height = [120, 165, 175, 220] }
[report]
curves = false
[publish]
title = "People"
licence = "CC0-1.0"
publisher = "Office"
contact = "data@example.org"
"""


MODEL_RECIPE = RECIPE
NEXT_RECIPE = """recipe = 1
table = "people.csv"
output = "next"
[fit]
secret = "obese"
columns = ["sex", "town"]
epsilon = 0.5
after = "first.json"
[sanitise]
person = "name"
released = ["kept.parquet"]
[report]
"""


def make_people(folder: Path) -> None:
    """The demo's people, those of a year ago, a recipe, and the protocol that is given."""
    people = population.people(ROWS, seed=1)
    moved = np.random.default_rng(2).random(ROWS) < MOVED
    before = people | {"town": np.where(moved, np.roll(people["town"], 1), people["town"])}
    table = folder / "people.csv"
    table.write_text(population.as_csv(people), encoding="utf-8")
    (folder / "last-year.csv").write_text(
        population.as_csv({name: column[:LAST_YEAR] for name, column in before.items()}), encoding="utf-8"
    )
    for name, text in {"people": RECIPE, "model": MODEL_RECIPE, "next": NEXT_RECIPE}.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    by_hand(table).save(folder / "hand.json")


def by_hand(table: Path) -> Protocol:
    """Most rows stay as they are, and each other combination is as likely as any."""
    joint = pf.Joint.from_table(table, "obese", ["sex", "town"])
    n = joint.n_x
    Q = (np.eye(n) * (ODDS - n) + 1) / ODDS
    block = block_of(joint, Channel.from_dense(Q))
    kept, entropy, readings = 2.0, joint.entropy, joint.secret_readings
    return Protocol(pf.LIP(BETWEEN), block, kept, entropy, entropy, "by hand", joint.secret, readings)


def make(table: str, folder: Path, data: Path) -> None:
    """Put the table into the folder; `data` is where the real ones are."""
    if table == "people":
        make_people(folder)
    else:
        (folder / f"{table}.csv").write_bytes(gzip.decompress((data / f"{table}.csv.gz").read_bytes()))
