"""The site, built strictly: no link inside it is dead, and it asks no other server for anything."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import privacyfunnel as pf

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[1]
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
"""What a browser fetches by itself, and where it is named."""


class Page(HTMLParser):
    """The links, the anchors and what is fetched of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.fetched, self.prose = [], {""}, [], ""
        self._code = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.anchors |= {named.get("id") or "", named.get("name") or ""}
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag in FETCHED and named.get(FETCHED[tag]):
            self.fetched.append(named[FETCHED[tag]])
        self._code += tag in ("code", "pre", "script", "style")
        if tag == "link" and named.get("rel") in ("stylesheet", "icon", "preload", "preconnect") and named.get("href"):
            self.fetched.append(named["href"])

    def handle_endtag(self, tag):
        self._code -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data):
        self.prose += "" if self._code else data


def build(folder, root=ROOT):
    command = [sys.executable, "-m", "tools.documentation", str(folder), str(root)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    for name in ("mkdocstrings", "zensical"):
        pytest.importorskip(name, reason=f"{name} is not installed: make docs installs it")
    folder = tmp_path_factory.mktemp("built") / "site"
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


def target(page, link):
    """The file and the anchor that a link inside the site leads to."""
    where = urlsplit(link)
    file = (page.parent / unquote(where.path)).resolve() if where.path else page
    return (file / "index.html" if file.is_dir() else file), unquote(where.fragment)


def test_no_link_inside_the_site_is_dead(site):
    checked = 0
    for page, parsed in site.items():
        if page.name == "404.html":  # its links are made for the root of a server
            continue
        for link in parsed.links:
            if urlsplit(link).scheme:
                continue
            file, anchor = target(page, link)
            assert file.is_file(), f"{page.parent.name} → {link}"
            assert not anchor or anchor in site[file].anchors or anchor.startswith("__"), f"{page.parent.name} → {link}"
            checked += 1
    assert checked > 500


def test_the_site_asks_no_other_server_for_anything(site):
    for page, parsed in site.items():
        for name in parsed.fetched:
            assert not urlsplit(name).netloc, f"{page.parent.name} fetches {name}"
            assert page.name == "404.html" or target(page, name)[0].is_file(), f"{page.parent.name} lacks {name}"
    folder = next(page.parent for page in site if page.name == "404.html")
    styles = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.css"))
    assert not re.search(r"@import\s+url\(|url\(\s*['\"]?https?:", styles)


def test_every_public_name_has_a_heading_in_the_reference(site):
    (reference,) = [parsed for page, parsed in site.items() if page.parent.name == "reference"]
    homes = {anchor.rsplit(".", 1)[-1] for anchor in reference.anchors if anchor.startswith("privacyfunnel.")}
    assert set(pf.__all__) - homes == set()


@pytest.mark.parametrize("link", ["[dead](nowhere.md)", "[dead](index.md#nowhere)"])
def test_a_dead_link_or_anchor_fails_the_build_and_leaves_no_site(link, tmp_path):
    pytest.importorskip("zensical")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n{link}\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: small\ntheme: { name: material, font: false }\n")
    done = build(tmp_path / "site", tmp_path)
    assert done.returncode != 0
    assert "does not exist" in done.stdout + done.stderr
    assert not (tmp_path / "site").exists()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[alive](index.md#here) and p_X\n")
    assert build(tmp_path / "site", tmp_path).returncode == 0
    assert "p<sub>X</sub>" in (tmp_path / "site" / "index.html").read_text()


@pytest.fixture
def typeset():
    specification = importlib.util.spec_from_file_location("typeset", ROOT / "tools" / "typeset.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.typeset


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Σ_x p_X[x] ≤ e^-ε", "Σ<sub>x</sub> p<sub>X</sub>[x] ≤ e<sup>−ε</sup>"),
        ("within e^±0.65", "within e<sup>±0.65</sup>"),
        ("e^-Σε_b, e^0.5.", "e<sup>−Σε<sub>b</sub></sup>, e<sup>0.5</sup>."),
        ("Σ_{x∼x^J} v_x", "Σ<sub>x∼x<sup>J</sup></sub> v<sub>x</sub>"),
        ("ε_{k−1} ≤ ε_∞, D_{θ₂}", "ε<sub>k−1</sub> ≤ ε<sub>∞</sub>, D<sub>θ₂</sub>"),
        ("(β/m)^(1/n), 2^⌈log₂ k⌉", "(β/m)<sup>1/n</sup>, 2<sup>⌈log₂ k⌉</sup>"),
        ("<code>n_x^2</code> and a data_set", "<code>n_x^2</code> and a data_set"),
        ('<a href="x_y^2">v_y</a>', '<a href="x_y^2">v<sub>y</sub></a>'),
    ],
)
def test_formulas_are_set_with_indices_and_exponents(typeset, typed, shown):
    assert typeset(typed) == shown


def test_no_formula_on_the_site_is_left_as_it_was_typed(site):
    for page, parsed in site.items():
        if page.parent.name != "reference":
            assert re.findall(r"(?<![\w^])[A-Za-zε]\^[^\s\w]?\w|(?<![\w_])[A-Za-zεΣ]_[A-Za-z{]", parsed.prose) == [], (
                page.parent.name
            )
