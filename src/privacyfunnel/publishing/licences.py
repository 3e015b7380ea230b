"""Licences: those that portals know by a short name, and any other by its address."""

from __future__ import annotations

from dataclasses import dataclass

from privacyfunnel.errors import InvalidInput


@dataclass(frozen=True)
class Licence:
    """Under which terms a table may be used."""

    name: str | None
    """As SPDX calls it; None for one that is known by its address alone."""
    title: str
    address: str


LICENCES = {
    licence.name: licence
    for licence in (
        Licence("CC0-1.0", "Creative Commons Zero 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        Licence("CC-BY-4.0", "Creative Commons Attribution 4.0", "https://creativecommons.org/licenses/by/4.0/"),
        Licence(
            "CC-BY-SA-4.0",
            "Creative Commons Attribution Share-Alike 4.0",
            "https://creativecommons.org/licenses/by-sa/4.0/",
        ),
        Licence(
            "CC-BY-NC-4.0",
            "Creative Commons Attribution Non-Commercial 4.0",
            "https://creativecommons.org/licenses/by-nc/4.0/",
        ),
        Licence("ODC-By-1.0", "Open Data Commons Attribution 1.0", "https://opendatacommons.org/licenses/by/1-0/"),
        Licence("ODbL-1.0", "Open Data Commons Open Database 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
        Licence("PDDL-1.0", "Open Data Commons Public Domain 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
        Licence("DL-DE-BY-2.0", "Data licence Germany – attribution 2.0", "https://www.govdata.de/dl-de/by-2-0"),
        Licence("DL-DE-ZERO-2.0", "Data licence Germany – Zero 2.0", "https://www.govdata.de/dl-de/zero-2-0"),
        Licence(
            "OGL-UK-3.0",
            "Open Government Licence 3.0",
            "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
        ),
        Licence(
            "etalab-2.0",
            "Licence Ouverte 2.0",
            "https://www.etalab.gouv.fr/wp-content/uploads/2018/11/open-licence.pdf",
        ),
    )
}
"""Those that open data are published under most often."""


def licence_of(text: str) -> Licence:
    """The licence that a short name or an address stands for.

    >>> licence_of("cc-by-4.0").address
    'https://creativecommons.org/licenses/by/4.0/'
    """
    known = {str(name).casefold(): licence for name, licence in LICENCES.items()}
    if text.casefold() in known:
        return known[text.casefold()]
    if is_address(text):
        return Licence(None, text, text)
    raise InvalidInput(f"licence is one of {', '.join(map(str, LICENCES))}, or an address that begins with https://")


def is_address(text: str) -> bool:
    """Whether a text is an address on the web, with nothing in it that would end it."""
    return text.startswith(("https://", "http://")) and len(text) > len("https://") and not set(text) & FORBIDDEN


FORBIDDEN = set(' \t\r\n"<>\\^`{|}')
"""What no address holds."""
