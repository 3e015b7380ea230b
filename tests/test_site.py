"""The site, built strictly: no link inside it is dead, and it asks no other server for anything."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import privacyfunnel as pf

ROOT = Path(__file__).resolve().parents[1]
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
"""What a browser fetches by itself, and where it is named."""


class Page(HTMLParser):
    """The links, the anchors and what is fetched of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.fetched = [], {""}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.anchors |= {named.get("id") or "", named.get("name") or ""}
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag in FETCHED and named.get(FETCHED[tag]):
            self.fetched.append(named[FETCHED[tag]])
        if tag == "link" and named.get("rel") in ("stylesheet", "icon", "preload", "preconnect") and named.get("href"):
            self.fetched.append(named["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: make docs installs it")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: make docs installs it")
    pytest.importorskip("material", reason="mkdocs-material is not installed: make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
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
