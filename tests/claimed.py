"""What people read of us, as sentences: README, what commands say, and the pages and folders that they write."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from golden.cases import CHAINS
from golden.running import Noise, run_all
from golden.tables import make

ROOT = Path(__file__).resolve().parents[1]
README = "README.md"
LETTERS = 100_000
"""Letters in a line of the terminal: a paragraph is a line, and cells of a table stand apart."""
FOLDER = {"README.md", "CITATION.cff", "croissant.json", "datapackage.json", "dcat.jsonld"}
"""Files of a published folder with sentences in them; what check.py says is read, too."""
BLOCKS = "p|li|td|th|h\\d|div|figcaption|figure|summary|details|dt|dd|caption|tr|pre|title|table|ul|section|option"


def pages(chain: str, folder: Path, noise: Noise) -> dict[str, list[str]]:
    """The sentences of what a chain of commands says (by the name of the command) and writes ("report", which is for
    the steward, "public report", "folder")."""
    make(CHAINS[chain].table, folder, None)
    found: dict[str, list[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacyfunnel.cli.show.LINE_LETTERS", LETTERS)
        for name, _, text in run_all(CHAINS[chain], folder, noise):
            command = CHAINS[chain].lines[name].split()[0]
            found.setdefault(command, []).extend(sentences(lines_apart(text)))
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".html":
            public = path.name != "report.html" or path.with_name("check.py").exists()
            page = "public report" if public else "report"
            found.setdefault(page, []).extend(sentences(text_of(path)))
        elif path.name in FOLDER or path.name == "check.py":
            text = text_of(path) if path.name in FOLDER else _verdict(path)
            found.setdefault("folder", []).extend(sentences(text))
    return found


def _verdict(checker: Path) -> str:
    command = [sys.executable, checker, checker.with_name("protocol.json")]
    return lines_apart(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def lines_apart(text: str) -> str:
    """With an empty line after each line."""
    return text.replace("\n", "\n\n")


def text_of(path: Path) -> str:
    """Blocks of text between empty lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", text, flags=re.DOTALL)
        text = re.sub(rf"</?({BLOCKS})\b[^>]*>", "\n\n", text)
        return html.unescape(re.sub(r"<[^>]+>", " ", text))
    if path.suffix in (".json", ".jsonld"):
        return "\n\n".join(strings(json.loads(text)))
    text = re.sub(r"```.*?```", lambda code: lines_apart(code[0]), text, flags=re.DOTALL)
    return re.sub(r"^(?=[-|>#] ?)", "\n", text, flags=re.MULTILINE)


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


def sentences(text: str) -> Iterator[str]:
    """Sentences of a text, each in one line, with … for every number, and without the marks of lists and links."""
    text = re.sub(r"^[┏┡└┌╞├].*$|[│┃]", "\n\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        plain = re.sub(r"\]\([^)]*\)|(?<!\*)\*(?!\*)|\[(?=[^\]]*\]\()|^\s*[->] ", "", block)
        for one in re.split(r"(?<=[.!?])\s+(?=[^a-z])", re.sub(r"\s+", " ", plain)):
            sentence = re.sub(r"\d[\d.,]*\d|\d", "…", one).strip()
            if sentence:
                yield sentence
