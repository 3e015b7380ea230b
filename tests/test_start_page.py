"""A reader who knows no information theory understands the first pages: no symbol comes before its explanation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FIRST_PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
EXPLAINED = {
    "protocol": r"protocol\*?\*?, (a small file that says|the rule by which)",
    "ε": r"written ε",
    "LIP": r"called LIP, for \*local information privacy\*",
    "factor": r"by at most a (certain )?factor",
    "belief": r"belief about that\s+person's secret",
}
"""Words with a meaning of their own, and the sentence that gives it to them."""
ALSO_IN_CODE = ("LIP",)
"""What must be explained before a piece of code uses it, too."""
NEVER = (
    *("LDP", "PML", "ALIP", "SRLIP", "SRLDP", "nat", "nats", "channel", "posterior", "prior", "lift", "entropy"),
    *("mutual information", "polytope", "conditional", "Bayes", "stochastic", "marginal", "LP", "δ", "e^", "ln"),
    *("I(X;Y)", "H(X)", "P(", "X", "Y", "S", "Q", "p(", "σ", "Σ"),
)
"""Words and symbols that do not belong on a first page at all."""


def words(page):
    """What a reader reads: without targets of links and without tables of other tools' names."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"\]\([^)]*\)", "]", text)


def prose(text):
    """The same without code, which says only what it does."""
    text = re.sub(r"^```.*?^```$", lambda block: "\n" * block.group().count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def sentence_start(text, at):
    """Where the sentence around a place begins."""
    breaks = [match.end() for match in re.finditer(r"(?<=[.:!?])\s+|\n\n|\|", text[:at])]
    return breaks[-1] if breaks else 0


def mentions(text, word):
    edge = r"(?<![\w^])" if word[0].isalnum() else ""
    end = r"(?!\w)" if word[-1].isalnum() else ""
    return [match.start() for match in re.finditer(edge + re.escape(word) + end, text)]


def unexplained(text):
    """Symbols that come before the sentence that explains them."""
    found = []
    for word, explanation in EXPLAINED.items():
        body = text if word in ALSO_IN_CODE else prose(text)
        where, given = mentions(body, word), re.search(explanation, body)
        if where and (given is None or where[0] < sentence_start(body, given.start())):
            found.append(word)
    return found


def unwanted(text):
    return [word for word in NEVER if mentions(prose(text), word)]


@pytest.mark.parametrize("document", FIRST_PAGES, ids=lambda document: document.name)
def test_no_symbol_comes_before_its_explanation(document):
    assert unexplained(words(document)) == []


@pytest.mark.parametrize("document", FIRST_PAGES, ids=lambda document: document.name)
def test_first_pages_do_without_the_words_of_the_field(document):
    assert unwanted(words(document)) == []


@pytest.mark.parametrize("word", ["ε", "LIP", "protocol"])
def test_a_symbol_without_explanation_is_noticed(word):
    assert word in unexplained(f"First comes {word} without a word.\n\n" + words(ROOT / "README.md"))


@pytest.mark.parametrize("sentence", ["It keeps I(X;Y).", "The posterior of X.", "2 nats.", "ε-LDP holds.", "e^0.5"])
def test_words_of_the_field_are_noticed(sentence):
    assert unwanted(sentence)


@pytest.mark.parametrize("document", FIRST_PAGES, ids=lambda document: document.name)
def test_sentences_of_first_pages_are_short(document):
    text = re.sub(r"^\|.*$|^#.*$|^!\[.*$", "", prose(words(document)), flags=re.MULTILINE)
    sentences = re.split(r"(?<=[.!?:])\s+|\n\n", text)
    assert [s for s in sentences if len(s.split()) > 42] == []


def test_the_readme_says_what_and_why_in_ten_lines_and_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first = [line for line in lines[1 : lines.index("## Two commands")] if line.strip() and not line.startswith("!")]
    assert len(first) <= 14
    assert len(lines) <= 130
