"""Parts of a page. Texts are escaped where they are put in; parts, pictures and bodies are HTML already."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from privacyfunnel.report.pictures import Picture

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a page may load: nothing but itself."""
RUNS = "; script-src 'sha256-{digest}'; connect-src 'self'"
"""What a page with a script may do besides: run this very script, which may read files beside the page."""


def style() -> str:
    """The style sheet that the report and the studio share."""
    return files("privacyfunnel.report").joinpath("page.css").read_text(encoding="utf-8")


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page with a heading that can be linked to."""
    return (
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape(title)}</h2>\n'
        + "\n".join(parts)
        + "\n</section>"
    )


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: bool = False) -> str:
    """A table whose first column names its rows; the others hold numbers, or texts."""
    kind = "texts" if texts else "figures"
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption, quote=True)}">'
        f'<table class="{kind}">'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def figure(picture: Picture) -> str:
    """A chart with its words, and its numbers behind a fold."""
    name = escape(f"{picture.title}. {picture.words}", quote=True)
    numbers = table(f"{picture.title}: the numbers", picture.headings, picture.rows)
    return (
        f"<figure><figcaption><strong>{escape(picture.title)}</strong> {escape(picture.words)}</figcaption>\n"
        f'<div class="wide" role="img" aria-label="{name}">{picture.wide}</div>\n'
        f'<div class="narrow" role="img" aria-label="{name}">{picture.narrow}</div>\n'
        f'<details><summary>The numbers<span class="unseen"> of “{escape(picture.title)}”</span></summary>'
        f"{numbers}</details></figure>"
    )


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what they stand for."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs) + "</dl>"


def code(text: str, label: str) -> str:
    """Lines to type."""
    return (
        f'<pre class="scroll" tabindex="0" role="region" aria-label="{escape(label, quote=True)}">'
        f"<code>{escape(text)}</code></pre>"
    )


def page(title: str, body: str, script: str = "") -> str:
    """A whole page that needs nothing else: no font, no network, and no script but its own."""
    runs = f"<script>{script}</script>\n" if script else ""
    policy = POLICY + (RUNS.format(digest=b64encode(sha256(script.encode()).digest()).decode()) if script else "")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n<style>\n{style()}</style>\n</head>\n'
        f"<body>\n{body}\n{runs}</body>\n</html>\n"
    )
