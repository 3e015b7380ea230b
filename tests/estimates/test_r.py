"""r/privacyfunnel.R gives the numbers of `estimate`: run by a real R."""

import csv
import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.population import people
from r_parts import require_r

SOURCE = Path(__file__).resolve().parents[2] / "r" / "privacyfunnel.R"
AGREE = 1e-8
SCRIPT = """
source({source})
protocol <- pf_read("protocol.json")
asked <- jsonlite::fromJSON("asked.json", simplifyVector = FALSE)
found <- lapply(asked, function(question) {{
  of <- unlist(question$of)
  shares <- pf_shares("open.csv", protocol, of = of, by = unlist(question$by), rows = question$rows)
  list(way = attr(shares, "way"), table = shares)
}})
writeLines(jsonlite::toJSON(found, digits = NA, na = "null", auto_unbox = TRUE, dataframe = "rows"), "found.json")
"""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def r():
    return require_r()


def table(n=4_000):
    found = pd.DataFrame(people(n, seed=7))
    found["old"], found["children"] = found.age >= 60, np.random.default_rng(7).integers(0, 4, n)
    found["town"] = found.town.where(np.arange(n) % 11 > 0, None)  # some are missing
    return found


NAMES = ["sex", "age", "town", "old", "children"]


def asked_of_r(r, folder, released, protocol, questions):
    released.to_csv(folder / "open.csv", index=False, quoting=csv.QUOTE_ALL)  # ends of lines within cells, too
    protocol.save(folder / "protocol.json")
    (folder / "asked.json").write_text(json.dumps(questions))
    script = folder / "ask.R"
    script.write_text(SCRIPT.format(source=json.dumps(str(SOURCE))))
    done = subprocess.run([r, str(script)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text())


def text(label):
    return None if label is None else str(label).lower() if isinstance(label, bool) else str(label)


def both(released, protocol, question, theirs):
    """Pairs of our and their row for every share that we give by itself."""
    by = question.get("by") or []
    ours = pf.estimate(released, protocol, of=[question["of"]], by=by, rows=question["rows"], model=False)
    places = {tuple(row.get(name) for name in (*by, *question["of"])): row for row in theirs["table"]}
    for each in ours.tables:
        order = [each.attributes.index(name) for name in question["of"]]
        for one in each.estimates:
            if len(one.values) == 1:
                group = [text(each.group[name]) for name in by]
                yield one, places[(*group, *(text(one.values[0][place]) for place in order))]


QUESTIONS = [{"of": ["town"]}, {"of": ["children", "sex"]}, {"of": ["town", "old"]}, {"of": ["old"], "by": ["sex"]}]


def protocol_for(kind, epsilon=0.5):
    private = {"private": 1.0, "at_least": 10, "insist": True} if kind == "private" else {}
    joint = pf.Joint.from_table(table(), "obese", NAMES, bins={"age": 3}, **private)
    objective = "information" if kind == "information" else "faithful"
    return pf.optimise(joint, pf.LIP(epsilon), objective=objective, time_limit=5)


@pytest.mark.parametrize(
    ("kind", "rows", "way"),
    [
        ("exact", "fitted", "counted"),
        ("private", "fitted", "corrected"),
        ("exact", "other", "channel"),
        ("private", "other", "channel"),
        ("information", None, "channel"),
    ],
)
def test_r_and_python_agree(r, tmp_path, kind, rows, way):
    protocol = protocol_for(kind, 2.0 if rows == "other" else 0.5)  # a strict one leaves little to tell of other rows
    released = protocol.sanitise(table()[NAMES], seed=5)
    questions = [question | {"rows": rows} for question in QUESTIONS]
    found = asked_of_r(r, tmp_path, released, protocol, questions)
    told = 0
    for question, theirs in zip(questions, found, strict=True):
        assert theirs["way"] == way
        for ours, row in both(released, protocol, question, theirs):
            if not ours.told:
                assert row.get("share") is None
                continue
            told += 1
            assert row["share"] == pytest.approx(ours.share, abs=AGREE)
            assert row["error"] == pytest.approx(ours.error, abs=AGREE)
            if way != "channel":
                assert (row["low"], row["high"]) == (
                    pytest.approx(ours.low, abs=AGREE),
                    pytest.approx(ours.high, abs=AGREE),
                )
            else:
                assert row["low"] <= max(0.0, min(1.0, ours.share)) <= row["high"]
    assert told >= 10


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('pf_shares("open.csv", p, of = "town")', "say which rows"),
        ('pf_shares("open.csv", p, of = "shoes", rows = "fitted")', "does not release shoes"),
        ('pf_shares("open.csv", p, of = c("sex", "sex"), rows = "fitted")', "named twice"),
        ('pf_shares(data.frame(sex = "x"), p, of = "sex", rows = "fitted")', "lacks the column"),
        ('pf_read("asked.json")', "no protocol"),
    ],
)
def test_r_refuses_in_one_line(r, tmp_path, call, words):
    protocol = protocol_for("exact")
    asked_of_r(r, tmp_path, protocol.sanitise(table()[NAMES], seed=5), protocol, [])
    (tmp_path / "asked.json").write_text("{}")
    script = f'source({json.dumps(str(SOURCE))}); p <- pf_read("protocol.json"); {call}'
    done = subprocess.run([r, "-e", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert words in done.stderr


def test_r_reads_ends_of_lines_within_a_cell(r, tmp_path):
    """R makes every end of a line within a cell a newline, whatever it was."""
    original = table(600)
    ends = {"Ashford": "Ash\rford", "Clayton": "Clay\r\nton"}
    original["town"] = original.town.replace(ends).fillna("none")
    joint = pf.Joint.from_table(original, "obese", ["sex", "town"])
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    released = protocol.sanitise(original[["sex", "town"]])
    found = asked_of_r(r, tmp_path, released, protocol, [{"of": ["town"], "rows": "fitted"}])[0]["table"]
    shares = {one.values[0][0]: one.share for one in pf.estimate(released, protocol, of="town").table("town").estimates}
    assert sorted(row["share"] for row in found) == pytest.approx(sorted(shares.values()), abs=AGREE)
    assert set(ends.values()) < set(shares)
