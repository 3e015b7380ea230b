"""For the site: p_X and e^ε in sentences become indices and exponents once pages are built. No script, no fonts.

The pages themselves stay readable as plain text, where formulas are written as people type them.
"""

from __future__ import annotations

import re
from pathlib import Path

AS_THEY_ARE = ("code", "pre", "script", "style", "svg")
"""Elements whose text is not prose."""
REFERENCE = "reference"
"""Docstrings speak of names such as n_x."""
ARTICLE = re.compile(r"<article\b.*?</article>", re.DOTALL)
"""What a page says; around it are menus, whose names have no formulas."""
BASE = r"(?<![A-Za-z0-9_])(max|min|[A-Za-zΑ-Ωα-ωΣΠ][ⁱʲ′]?)"
INDEX = re.compile(BASE + r"_(?:\{([^{}]*)\}|(∞|[A-Za-z0-9α-ω][₀-₉]?)(?![A-Za-z0-9_]))")
EXPONENT = re.compile(
    r"(?<=[\w)\]])\^(?:\{([^{}]*)\}|\(([^()]*)\)|([-−±]?(?:\d+\.\d+|Σ?\w+?(?:_[A-Za-z0-9])?(?!\w)|⌈[^⌉]*⌉)))"
)


def typeset_site(folder: Path) -> int:
    """Set the formulas in the articles of all pages of a built site; how many pages there are."""
    pages = [page for page in sorted(folder.rglob("*.html")) if page.parent.name != REFERENCE]
    for page in pages:
        html = page.read_text(encoding="utf-8")
        page.write_text(ARTICLE.sub(lambda found: typeset(found[0]), html), encoding="utf-8")
    return len(pages)


def typeset(html: str) -> str:
    """The same page with indices and exponents.

    >>> typeset("<p>Σ_x p_X[x] ≤ e^-ε, P(s|x^J), <code>n_x^2</code></p>")
    '<p>Σ<sub>x</sub> p<sub>X</sub>[x] ≤ e<sup>−ε</sup>, P(s|x<sup>J</sup>), <code>n_x^2</code></p>'
    """
    parts, untouched = re.split(r"(<[^>]+>)", html), 0
    for i, part in enumerate(parts):
        name = re.match(r"</?(\w+)", part)
        if i % 2 and name and name.group(1) in AS_THEY_ARE:
            untouched += -1 if part.startswith("</") else 1
        elif i % 2 == 0 and not untouched:
            parts[i] = _formulas(part)
    return "".join(parts)


def _formulas(text: str) -> str:
    """Indices that hold exponents first, then exponents that hold indices, then all other indices."""
    text = re.sub(BASE + r"_\{([^{}]*\^[^{}]*)\}", lambda m: f"{m[1]}<sub>{EXPONENT.sub(_raised, m[2])}</sub>", text)
    return INDEX.sub(_lowered, EXPONENT.sub(_raised, text))


def _raised(match: re.Match[str]) -> str:
    inside = next(group for group in match.groups() if group is not None).replace("-", "−")
    return f"<sup>{INDEX.sub(_lowered, inside)}</sup>"


def _lowered(match: re.Match[str]) -> str:
    return f"{match[1]}<sub>{match[2] if match[2] is not None else match[3]}</sub>"
