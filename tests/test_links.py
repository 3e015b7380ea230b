"""Links lead somewhere: to files that exist, to headings that are there, to public names that are documented."""

import ast
import re
import unicodedata
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import privacyfunnel as pf

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(pf.__file__).parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
INLINE = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
HOSTS = {
    "arx.deidentifier.org",
    "cran.r-project.org",
    "docs.opendp.org",
    "docs.rs",
    "doi.org",
    "github.com",
    "pypi.org",
    "search.r-project.org",
}
"""The sites that the documentation points to. Nothing is fetched here; a new one is looked at by somebody first."""


def prose(text):
    """The text without blocks and pieces of code."""
    text = re.sub(r"^\s*```.*?^\s*```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def links(text):
    return INLINE.findall(prose(text))


def slug(heading):
    """The anchor of a heading, as Python-Markdown makes it."""
    plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading)
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def anchors(page):
    text = re.sub(r"^\s*```.*?^\s*```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = [slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    assert len(headings) == len(set(headings)), f"{page.name} has two headings of the same name"
    return {
        *headings,
        *(f"privacyfunnel.{name}" for name in re.findall(r"^::: privacyfunnel\.(\w+)$", text, re.MULTILINE)),
    }


def dead(page, text):
    """The links of a page that lead nowhere."""
    found = []
    for target in links(text):
        where = urlsplit(target)
        if where.scheme:
            if where.scheme != "https" or where.hostname not in HOSTS:
                found.append(target)
            continue
        file = (page.parent / where.path).resolve() if where.path else page
        missing = not file.is_file() and not file.is_dir()
        if missing or (where.fragment and (file.suffix != ".md" or where.fragment not in anchors(file))):
            found.append(target)
    return found


@pytest.mark.parametrize("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(document):
    assert dead(document, document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "target", ["nowhere.md", "theory.md#nowhere", "pictures/none.png", "http://github.com/x", "https://example.org/"]
)
def test_a_link_that_leads_nowhere_is_noticed(target):
    assert dead(ROOT / "docs" / "index.md", f"See [this]({target}).") == [target]


def test_links_inside_the_site_stay_inside_it():
    """What is not under docs/ is not on the site, so that pages of the site cannot point to it."""
    inside = ROOT / "docs"
    for page in inside.rglob("*.md"):
        for target in links(page.read_text(encoding="utf-8")):
            where = urlsplit(target)
            if not where.scheme and where.path:
                assert (page.parent / where.path).resolve().is_relative_to(inside), f"{page.name} → {target}"


def test_pictures_are_all_shown_and_say_what_they_show():
    shown = [
        ((page.parent / path).resolve(), words)
        for page in PAGES
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert all(len(words.split()) >= 4 for _, words in shown)
    assert set((ROOT / "docs" / "pictures").iterdir()) <= {path for path, _ in shown}


def docstrings():
    """The docstrings of everything that the reference shows, which are rendered as Markdown."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, ast.get_docstring(node) or ""


def test_docstrings_have_no_dead_links():
    reference = ROOT / "docs" / "reference.md"
    for path, text in docstrings():
        without = re.sub(r"^\s*>>>.*(?:\n.+)*", "", text, flags=re.MULTILINE)  # examples are not prose
        assert dead(reference, without) == [], path.name
