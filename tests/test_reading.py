"""Pages are made of short sentences, and what is measured of them is that."""

import pytest
from tools import reading

MOST = 20.0
"""Words of a sentence, on average: of a page that people finish."""
LONGEST = 2_500
"""Words of a page that is read in ten minutes, at 250 a minute."""
LOOKED_UP = {"theory.md", "methods.md", "results.md", "options.md"}
"""Pages that nobody reads from beginning to end."""


@pytest.mark.parametrize("page", reading.PAGES, ids=lambda page: page.name)
def test_sentences_of_a_page_are_short_on_average(page):
    assert reading.mean_words(page.read_text(encoding="utf-8")) <= MOST


@pytest.mark.parametrize(
    "page", [page for page in reading.PAGES if page.name not in LOOKED_UP], ids=lambda page: page.name
)
def test_a_page_is_read_in_ten_minutes(page):
    assert len(page.read_text(encoding="utf-8").split()) <= LONGEST, "cut it, or make it two pages"


def test_code_tables_and_links_are_no_sentences():
    text = "# Head\n\nOne two. Three [four](a/b.md) `x = 1`!\n\n```sh\nmake demo all day\n```\n| a | b |\n- Five six\n"
    assert reading.sentences(text) == ["One two.", "Three [four] code!", "Five six\n"]
    assert reading.mean_words(text) == pytest.approx(7 / 3)


def test_long_words_and_sentences_have_a_higher_grade():
    assert reading.grade("The cat sat. A dog ran.") < 3
    assert reading.grade("Differential privacy of conditional distributions necessitates considerable noise.") > 12


def test_a_page_of_long_sentences_is_noticed():
    assert reading.mean_words("word " * 40 + ".") > MOST
