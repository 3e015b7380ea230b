"""Every file of a published folder, read in full as a member of the public: it speaks to readers, who have no table."""

import html
import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.publishing.described import PARQUET, TABLE
from privacyfunnel.publishing.publish import publish
from privacyfunnel.report.account import account
from privacyfunnel.report.page import report_page
from publishing.conftest import told

ROWS = 3_000
OWN_COMMAND = "funnel estimate table.csv --protocol protocol.json"
"""Of the reader."""
OF_A_FOLLOW_UP = "--released EARLIER --person COLUMN"
"""Of the reader, too."""
STEWARD = re.compile(
    r"\byours?\b| --[a-z]|for your eyes|For you alone|steward_only|own_table|TABLE\.csv"
    r"|[Cc]hoose a promise|[Ll]eave (it|them) out|allow more|[Dd]o not release|publish one"
)
"""What is said to somebody else."""


def people(seed=3):
    rng = np.random.default_rng(seed)
    town, sex = rng.integers(0, 4, ROWS), rng.integers(0, 2, ROWS)
    ill = rng.random(ROWS) < 0.1 + 0.12 * town + 0.1 * sex
    alone = rng.random(ROWS) < 0.01
    columns = {
        "ill": np.where(ill, "yes", "no"),
        "smoker": np.where(rng.random(ROWS) < 0.3, "yes", "no"),
        "town": np.where(alone, "Far", np.array(["Ashford", "Birch", "Cole", "Dorn"])[town]),
        "sex": np.array(["f", "m"])[sex],
        "telling": np.where(ill, "A", "B"),
        "age": rng.integers(18, 90, ROWS),
    }
    return pd.DataFrame(columns)


def private(secret="ill", attributes=("town", "sex", "age"), **how):
    bins = {"age": 3} if "age" in attributes else {}
    return pf.Joint.from_table(people(), secret, list(attributes), **{"private": 4.0, "bins": bins, **how})


def kinds():
    """Protocols of every kind that may be published, by name."""
    lip = {"objective": "faithful", "time_limit": 5}
    return {
        "faithful": lambda: pf.optimise(private(at_least=10), pf.LIP(0.5), **lip),
        "without a threshold": lambda: pf.optimise(private(), pf.LIP(0.5), **lip),
        "information": lambda: pf.optimise(private(at_least=10), pf.LIP(0.5), time_limit=5),
        "for readers": lambda: pf.optimise(private(), pf.LIP(0.5), readers="shares", time_limit=5),
        "side channels": lambda: pf.optimise(private(), pf.SRLIP(0.8, known=1), **lip),
        "population": lambda: pf.optimise(private(attributes=["sex"]), pf.robust(pf.LIP(1.0), 0.95, "nested"), **lip),
        "two secrets": lambda: pf.optimise(
            private(["ill", "smoker"], ["town", "sex"]), pf.Promises(ill=pf.LIP(0.3), smoker=pf.LIP(0.6)), **lip
        ),
        "belief": lambda: pf.optimise(private(), pf.Belief({"yes": 0.6}), **lip),
        "upper": lambda: pf.optimise(private(), pf.PML(0.5), **lip),
        "a column that tells too much": lambda: pf.optimise(
            private(attributes=["telling", "town"]), pf.LIP(0.1), **lip
        ),
        "exact columns": lambda: pf.optimise(
            private(attributes=["smoker", "town"]), pf.LIP(1.0), exact=["smoker"], **lip
        ),
        "large counts": lambda: pf.optimise(private(delta=1e-6, at_least=40), pf.LIP(0.5), **lip),
    }


def texts(folder):
    """What each file says, without the rows."""
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix in WORDS}
    found["report.html"] = page_text(found["report.html"])
    found[PARQUET] = json.dumps(
        {k.decode(): v.decode() for k, v in pq.read_metadata(folder / PARQUET).metadata.items()}
    )
    return {name: text for name, text in found.items() if name != TABLE}


WORDS = {".md", ".html", ".json", ".jsonld", ".cff", ".R"}


def page_text(page):
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


QUICK = ("faithful", "two secrets", "large counts")


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.long) for kind in kinds()]
)
def test_no_file_of_a_published_folder_speaks_to_the_steward(kind, tmp_path, noise_with_seed):
    with noise_with_seed(5):
        protocol = kinds()[kind]()
    people().to_csv(tmp_path / "people.csv", index=False)
    protocol.sanitise(tmp_path / "people.csv", tmp_path / "open.csv")
    publish(protocol, tmp_path / "open.csv", tmp_path / "folder", told())
    for name, text in texts(tmp_path / "folder").items():
        found = STEWARD.search(text.replace(OWN_COMMAND, "").replace(OF_A_FOLLOW_UP, ""))
        assert found is None, (name, text[max(0, found.start() - 100) : found.end() + 100])
        if name in ("README.md", "report.html"):
            assert "Not proven: that noise of the stated size was added to the counts" in text
            assert "nobody away" not in text


def test_rows_of_other_people_are_published_in_the_same_words(tmp_path):
    protocol = kinds()["faithful"]()
    people(seed=9).head(1_000).to_csv(tmp_path / "people.csv", index=False)
    protocol.sanitise(tmp_path / "people.csv", tmp_path / "open.csv")
    publish(protocol, tmp_path / "open.csv", tmp_path / "folder", told())
    for name, text in texts(tmp_path / "folder").items():
        assert STEWARD.search(text.replace(OWN_COMMAND, "").replace(OF_A_FOLLOW_UP, "")) is None, name


@pytest.mark.parametrize("threshold", [0, 10])
def test_a_public_page_of_an_exact_fit_asks_nobody_for_a_table_and_claims_no_more_than_is_so(threshold):
    joint = pf.Joint.from_table(people(), "ill", ["town", "sex"])
    joint = pf.Joint.from_table(people(), "ill", ["town", "sex"], at_least=threshold) if threshold else joint
    text = page_text(report_page(account(pf.optimise(joint, pf.LIP(0.5), objective="faithful"))))
    assert STEWARD.search(text) is None
    assert ("with the distribution of the original rows" in text) == (threshold == 0)
    assert ("rare combinations, which are read as others" in text) == (threshold > 0)
    assert "off by up to" not in text  # which only the table tells


def test_a_public_page_says_what_vanishes_by_the_published_counts(tmp_path, capsys):
    rng = np.random.default_rng(7)
    rare = np.arange(2_000) < 800
    town = np.where(rare, rng.integers(3, 33, 2_000), rng.integers(0, 3, 2_000))
    job = np.where(rare, rng.integers(3, 33, 2_000), town)
    ill = np.where(rng.random(2_000) < 0.3, "yes", "no")
    table = pd.DataFrame({"town": [f"t{t:02}" for t in town], "job": [f"j{j:02}" for j in job], "ill": ill})
    table.to_csv(tmp_path / "people.csv", index=False)
    for more in (["--set", "at-least=10"], ["--set", "delta=1e-9"]):
        asked = [
            "--secret",
            "ill",
            "--epsilon",
            "0.5",
            "-o",
            str(tmp_path / "p.json"),
            "--set",
            "insist",
            "--force",
            *more,
        ]
        assert run(["fit", str(tmp_path / "people.csv"), *asked]) == 0
        assert (
            run(["report", str(tmp_path / "p.json"), "--public", "-o", str(tmp_path / "r.html"), "--force", "--json"])
            == 0
        )
        found = json.loads(capsys.readouterr().out.splitlines()[-1])
        text = page_text((tmp_path / "r.html").read_text(encoding="utf-8"))
        assert "about 0 people" not in text
        assert found["threshold"]["share"] == pytest.approx(0.4, abs=0.1)
        assert found["cells_unchanged"] < 0.75  # four in ten people are read as others, and their cells count
        assert found["likeness"]["rows_unchanged"] < 0.65
        assert f"{found['cells_unchanged']:.1%} of all cells stay as they are" in text
        if not more:
            assert "By the published counts: shares of single values are off by" in text
            assert re.search(r"Values that vanish: \d+ of 33 of town", text)
        unchanged = re.search(r"cells unchanged\s+town ([\d.]+)%", text)
        assert float(unchanged[1]) < 75
