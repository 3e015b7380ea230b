"""A table with whatever makes tables hard to read, its protocol and release, and the folder that is published of it."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.publishing.details import details_of
from privacyfunnel.publishing.publish import publish

TODAY = dt.date(2026, 11, 17)
NAMES = ["town, or “village”", "member", "children", "dose", "code", "born", "age"]
"""Texts with commas, quotes and NA; booleans; whole numbers that can be missing; decimals; texts that look like
numbers; dates; ranges."""


def awkward(rows=1_200, seed=7):
    """People who do not exist."""
    rng = np.random.default_rng(seed)
    towns = np.array(["Ashford", "NA", 'the "Mill", upper', "Zürich"])
    table = pd.DataFrame(
        {
            NAMES[0]: towns[rng.integers(0, 4, rows)],
            "member": rng.random(rows) < 0.6,
            "children": pd.array(np.where(rng.random(rows) < 0.2, None, rng.integers(0, 3, rows)), dtype="Int64"),
            "dose": np.array([0.5, 1.25])[rng.integers(0, 2, rows)],
            "code": np.array(["01", "02"])[rng.integers(0, 2, rows)],
            "born": np.array(["1970-05-31", "1980-01-02"])[rng.integers(0, 2, rows)],
            "age": rng.integers(18, 90, rows),
        }
    )
    ill = rng.random(rows) < 0.15 + 0.3 * (table["age"] > 60) + 0.2 * table["member"]
    return table.assign(ill=np.where(ill, "yes", "no"), name=[f"person {i}" for i in range(rows)])


def fitted(folder, names=("town, or “village”", "member", "children"), **how):
    """people.csv, its private protocol and open.csv in a folder."""
    folder.mkdir(exist_ok=True)
    awkward().to_csv(folder / "people.csv", index=False)
    asked = {"private": 2.0, "at_least": 5, "bins": {"age": [0, 40, 60, 120]}} | how
    asked["bins"] = {name: bins for name, bins in asked["bins"].items() if name in names}
    joint = pf.Joint.from_table(folder / "people.csv", "ill", list(names), **asked)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    protocol.save(folder / "protocol.json")
    protocol.sanitise(folder / "people.csv", folder / "open.csv")
    return protocol


GIVEN = {"title": "People | of *nowhere*", "licence": "CC-BY-4.0", "publisher": "Office <office@example.org>"}
GIVEN |= {"contact": "data@example.org"}


def told(**more):
    """Details."""
    return details_of(None, GIVEN | more, health=False, today=TODAY)


@pytest.fixture(scope="session")
def desk(tmp_path_factory) -> Path:
    """A folder with people.csv, protocol.json and open.csv."""
    folder = tmp_path_factory.mktemp("desk")
    fitted(folder)
    return folder


@pytest.fixture(scope="session")
def wide(tmp_path_factory) -> tuple[pf.Protocol, Path]:
    """A protocol of columns of all kinds, and the folder that is published of it, all details told."""
    folder = tmp_path_factory.mktemp("wide")
    protocol = fitted(folder, ("children", "dose", "code", "born", "age"))
    (folder / "publish.toml").write_text(FULL, encoding="utf-8")
    details = details_of(folder / "publish.toml", {}, health=True, today=TODAY)
    publish(protocol, folder / "open.csv", folder / "published", details)
    return protocol, folder / "published"


@pytest.fixture(scope="session")
def published(desk) -> Path:
    """The folder that is published of the desk, with what must be told and no more."""
    publish(pf.Protocol.load(desk / "protocol.json"), desk / "open.csv", desk / "published", told())
    return desk / "published"


FULL = """
title = "Illness in nowhere"
name = "illness"
description = "Made up."
licence = "https://example.org/terms"
publisher = { name = "Office", url = "https://example.org" }
contact = { name = "Desk", email = "data@example.org" }
version = "2.1"
date = 2026-11-01
url = "https://example.org/data/illness"
language = "de"
theme = "HEAL"
keywords = ["illness", "Straße"]
place = "http://publications.europa.eu/resource/authority/country/NLD"
from = 2025-01-01
to = 2025-12-31
contributors = [
  { name = "Ada", role = "creator", organisation = "Office", email = "ada@example.org" },
  { name = "Bob", role = "curator", url = "https://example.org/bob" },
]
sources = [{ title = "The register", url = "https://example.org/register" }]

[health]
category = ["https://example.org/category/1"]
theme = ["https://www.wikidata.org/entity/Q12136"]
access-body = { name = "Body", email = "body@example.org" }
population = "Everybody who does not exist"
least-age = 18
most-age = 89
purpose = "Statistics"
legal-basis = "A law"
coding-systems = ["https://www.wikidata.org/entity/P494"]
"""


@pytest.fixture(autouse=True)
def _sketched(sketched: None) -> None:
    """What the page of a folder says is read in tests/report."""
