"""The button on a public page with which the browser of its reader checks the proof, from the protocol beside it."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from privacyfunnel.report.html import paragraph

WITHOUT = "Without JavaScript: python3 check.py {name}, with the file check.py of the published folder."


def script() -> str:
    """What the button runs: the check in whole numbers, as in publishing/check.py."""
    return files("privacyfunnel.report").joinpath("check.js").read_text(encoding="utf-8")


def button(digest: str, name: str) -> str:
    """The button, and where its answer is shown; `digest` is that of the protocol that the page is about."""
    name = escape(name, quote=True)
    return (
        f'<div data-protocol="{name}" data-digest="{escape(digest, quote=True)}">\n'
        '<p><button type="button">Check the proof now</button></p>\n'
        f'<label hidden>The file {name}: <input type="file" accept=".json,application/json"></label>\n'
        f'<div role="status"></div>\n<noscript>{paragraph(WITHOUT.format(name=name))}</noscript>\n</div>'
    )
