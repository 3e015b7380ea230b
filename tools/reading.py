"""How long the documentation is and how hard to read, page by page: python -m tools.reading, or make reading.

For each page: its words, those of its code among them, the mean words of a sentence and the school grade of Flesch and
Kincaid, 0.39·(words/sentences) + 11.8·(syllables/words) − 15.59, where a group of vowels is a syllable. Code, tables
and headings are no sentences.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"^\s*```.*?^\s*```$", re.MULTILINE | re.DOTALL)
NO_SENTENCES = re.compile(r"^(\||#|!\[|>|:::|<| {4}).*$", re.MULTILINE)


def sentences(text: str) -> list[str]:
    """The sentences of a page, without what is no prose; an entry of a list is one of its own."""
    prose = NO_SENTENCES.sub("", CODE.sub("", text))
    prose = re.sub(r"`[^`\n]*`", "code", re.sub(r"\]\([^)]*\)", "]", prose))
    prose = re.sub(r"^\s*(-|\d+\.) ", "\n\n", prose, flags=re.MULTILINE)
    return [found for found in re.split(r"(?<=[.!?:;])\s+|\n\n", prose) if len(found.split()) > 1]


def mean_words(text: str) -> float:
    """Of a sentence."""
    found = sentences(text)
    return sum(len(one.split()) for one in found) / max(1, len(found))


def grade(text: str) -> float:
    """The years at school that a text asks for."""
    words = re.findall(r"[a-z]+", " ".join(sentences(text)).lower())
    syllables = sum(max(1, len(re.findall(r"[aeiouy]+", word))) for word in words)
    return 0.39 * mean_words(text) + 11.8 * syllables / max(1, len(words)) - 15.59


def main() -> None:
    """Print one line for each page, and the sum."""
    lines = [f"{'page':24} {'words':>7} {'code':>6} {'a sentence':>11} {'grade':>6}"]
    total = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        words, code = len(text.split()), sum(len(block.split()) for block in CODE.findall(text))
        total += words
        lines.append(f"{page.name:24} {words:7,} {code:6,} {mean_words(text):11.1f} {grade(text):6.1f}")
    sys.stdout.write("\n".join([*lines, f"{'all':24} {total:7,}\n"]))


if __name__ == "__main__":
    main()
