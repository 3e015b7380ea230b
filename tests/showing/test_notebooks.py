"""Notebooks: values show themselves as HTML with pictures, and no text of theirs becomes markup."""

import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.showing.html import MOST_ROWS, html_of
from privacyfunnel.showing.sheet import Mark, Sheet, between

EVIL = '<script>alert("x")</script>'
EMPTY = {"path", "rect", "br"}


class Checked(HTMLParser):
    """That every element ends, and which there are."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.open += [tag] if tag not in EMPTY else []

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def shown():
    """One of each, of a table whose names and values are hostile."""
    rng = np.random.default_rng(1)
    n = 2_000
    ill = rng.random(n) < 0.4
    table = pa.table(
        {
            EVIL: np.where(ill, "yes", EVIL),
            "town": rng.choice(["A", "B</td>", EVIL], n),
            "age": rng.integers(20, 60, n),
            "old": np.where(rng.random(n) < 0.3 + 0.2 * ill, "1", "0").astype(int),
        }
    )
    joint = pf.Joint.from_table(table, EVIL)
    protocol = pf.optimise(joint, pf.LIP(0.7), objective="faithful")
    released = protocol.sanitise(table, seed=1)
    return {
        "joint": joint,
        "private": pf.Joint.from_table(table, EVIL, private=1.0),
        "protocol": protocol,
        "certificate": pf.certify(protocol, joint),
        "estimates": pf.estimate(released, protocol, of=["town", "age"], by=["old"]),
        "errors": pf.expected_errors(protocol, joint),
        "regression": pf.regress(released, protocol, "old ~ age + C(town)", family="binomial"),
        "association": pf.associate(released, protocol, "town", "old"),
        "comparison": pf.compare(released, protocol, "old", by="town"),
        "advice": pf.advise(table, EVIL, promise=pf.LIP(0.7)),
    }


KINDS = [
    "joint",
    "private",
    "protocol",
    "certificate",
    "estimates",
    "errors",
    "regression",
    "association",
    "comparison",
    "advice",
]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_shows_itself_with_a_picture_and_no_text_becomes_markup(shown, kind):
    text = shown[kind]._repr_html_()
    seen = Checked(text).seen
    assert {"table", "svg"} <= seen
    assert text.count("<table") == text.count("<svg") == 1
    assert "script" not in seen
    assert not re.search(r"(?:src|href)=|url\(|@import", text)  # nothing is fetched


def test_hostile_names_are_shown_as_they_are(shown):
    assert "&lt;script&gt;" in shown["joint"]._repr_html_()
    assert "B&lt;/td&gt;" in shown["estimates"]._repr_html_()


def test_a_broken_promise_is_called_broken_and_an_exact_fit_not_for_publication(shown):
    joint = shown["joint"]
    broken = pf.certify(np.eye(joint.n_x), joint, pf.LIP(0.01))
    assert "The promise is broken" in broken._repr_html_()
    assert "The promise holds" in shown["certificate"]._repr_html_()
    assert "not for publication" in shown["protocol"]._repr_html_()
    assert "For you alone" in shown["advice"]._repr_html_()


def test_long_tables_are_cut_and_say_so():
    rows = [[str(i), "1"] for i in range(MOST_ROWS + 7)]
    text = html_of(Sheet("t", [], ("a", "b"), rows, [Mark(float(i)) for i in range(len(rows))]))
    assert "7 more rows" in text
    assert text.count("<rect") == MOST_ROWS


def test_marks_without_numbers_draw_nothing_and_infinite_ones_do_not_break():
    marks = [Mark(float("inf"), limit=1.0), Mark(None, 0.1, None)]
    assert html_of(Sheet("t", [], ("a",), [["x"], ["y"]], marks)).count("<path") == 2
    assert "<svg" not in html_of(Sheet("t", [], ("a",), [["x"]], [Mark(None)]))
    assert between(None, None) == "–"
    assert between(0.1, None, percent=True) == "10.0% to –"
