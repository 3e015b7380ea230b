"""Sentences that were false once, on every page and in every message: what they claim now is true, and said so."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def sentences(path):
    """Texts between full stops, whatever lines they are on; strings in code that are joined are one."""
    text = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
    return re.split(r"(?<=[.:;])\s+", re.sub(r"\s+", " ", text))


def said(pattern, paths=(*PAGES, *SOURCES)):
    return [(path.name, one) for path in paths for one in sentences(path) if re.search(pattern, one)]


def test_rows_have_exactly_the_original_distribution_only_where_that_is_so():
    """Of exact fits without a threshold: others have noise, or read rare combinations as others."""
    found = said(r"exactly\*? ?the distribution of the original")
    assert found
    for name, one in found:
        assert re.search(r"exact fit|[Ww]ithout (these two|a threshold)|exact counts", one), (name, one)


def test_nobody_is_said_to_be_bounded_by_everything_published():
    assert not said(r"(everything|all) that is published[^.]*nobody's belief")
    assert not said(r"nobody's belief (moves|about a person)", PAGES[:1])


def test_rows_of_diabetes_are_stays_and_not_people():
    assert all("101,766 hospital stays of 71,518 patients" in one for _, one in said(r"101,766"))
    (table,) = [
        line
        for line in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines()
        if "diabetes130 (" in line
    ]
    assert "hospital stays" in table
    security = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert "Rows of Diabetes are hospital stays" in security


def test_further_releases_are_under_one_promise_about_rows_and_their_fits_add_up():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "many releases" not in readme
    (row,) = [line for line in readme.splitlines() if line.startswith("| further releases of the same people")]
    assert "about their rows" in row
    assert "ε₀ of private fits adds up" in row


def test_the_fits_of_follow_ups_do_add_up():
    rng = np.random.default_rng(1)
    counts = rng.integers(40, 90, (2, 4))
    from privacyfunnel.distribution.column import Column
    from privacyfunnel.distribution.noise import Noise, noisy_joint
    from privacyfunnel.protocols.everything import everything

    column = Column(name="x", kind="text", labels=tuple("abcd"))
    first, second = (noisy_joint(Noise(e, int(counts.sum()), ("x",), counts), (column,), "s") for e in (1.0, 0.5))
    one = pf.optimise(first, pf.LIP(0.3))
    two = pf.optimise(second, pf.LIP(0.6), after=one)
    assert everything(two).fit == pytest.approx(1.5)


def test_a_file_holds_those_values_of_the_secret_that_the_promise_names_and_no_others(tmp_path):
    """As docs/security.md says."""
    rng, n = np.random.default_rng(1), 3_000
    people = pd.DataFrame({"dx": rng.choice(["flux", "okapi", "zebra"], n), "town": rng.choice(list("abc"), n)})
    joint = pf.Joint.from_table(people, "dx", ["town"], private=1.0)
    every = {"flux", "okapi", "zebra"}
    for promise, named in (
        (pf.LIP(0.5), set()),
        (pf.Belief({"zebra": 0.4}), {"zebra"}),
        (pf.LIP({"flux": 0.7, "okapi": 0.5, "zebra": 0.2}), every),
    ):
        pf.optimise(joint, promise, objective="faithful").save(tmp_path / "p.json")
        content = json.loads((tmp_path / "p.json").read_text())
        assert {value for value in every if value in json.dumps(content)} == named
        assert len(content["noise"]["counts"]) == 3  # how many there are, it tells
    text = " ".join((ROOT / "docs" / "security.md").read_text(encoding="utf-8").split())
    assert "how many there are, those that the promise itself names" in text


def test_fits_on_exact_counts_are_saved_for_internal_use_only():
    blocks = [
        block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    ]
    saved = [(block, line) for block in blocks for line in block.splitlines() if ".save(" in line]
    assert len(saved) >= 3
    for block, line in saved:
        assert "private=" in block or line.endswith("for internal use only"), line


def test_analysts_are_told_who_can_check_what():
    text = " ".join((ROOT / "docs" / "estimates.md").read_text(encoding="utf-8").split())
    assert "anybody can check the promise on them" in text
    assert "That noise of the stated size was added is the publisher's word" in text
    assert "on the exact counts can only be checked by somebody who has the original table" in text
