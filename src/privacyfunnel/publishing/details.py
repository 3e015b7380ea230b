"""Details: what only its owner can say of a table that is published. They are options, or a file publish.toml."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, model_validator

from privacyfunnel.errors import InvalidInput
from privacyfunnel.publishing.licences import LICENCES, Licence, is_address, licence_of
from privacyfunnel.spec.key import TO_FILL_IN
from privacyfunnel.spec.toml_file import STRICT, checked, read_toml

LONGEST = 20_000
"""Letters of a description."""
EMAIL = re.compile(r"[\w.!#$%&'*+/=?^{}~-]+@[\w-]+(\.[\w-]+)+")
THEMES = ("AGRI", "ECON", "EDUC", "ENER", "ENVI", "GOVE", "HEAL", "INTR", "JUST", "REGI", "SOCI", "TECH", "TRAN")
"""The themes of European data portals."""
LANGUAGES = {
    **{"bg": "BUL", "cs": "CES", "da": "DAN", "de": "DEU", "el": "ELL", "en": "ENG", "es": "SPA", "et": "EST"},
    **{"fi": "FIN", "fr": "FRA", "ga": "GLE", "hr": "HRV", "hu": "HUN", "it": "ITA", "lt": "LIT", "lv": "LAV"},
    **{"mt": "MLT", "nl": "NLD", "no": "NOR", "pl": "POL", "pt": "POR", "ro": "RON", "sk": "SLK", "sl": "SLV"},
    **{"sv": "SWE"},
}
"""Languages as they are typed, and as European data portals call them."""


def _told(text: str) -> str:
    if not text.strip():
        raise ValueError("should say something; it is empty")
    if any(unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in text.strip()):
        raise ValueError("should be text that can be shown; it has a control character in it")
    if text.strip() == TO_FILL_IN:
        raise ValueError(f"should be filled in; it still says {TO_FILL_IN}")
    return text.strip()


def _address(text: str) -> str:
    if not is_address(text):
        raise ValueError("should be an address that begins with https://")
    return text


def _email(text: str) -> str:
    if not EMAIL.fullmatch(text):
        raise ValueError("should be an e-mail address, such as data@example.org")
    return text


def _licence(text: str) -> str:
    try:
        licence_of(text)
    except InvalidInput as unknown:
        raise ValueError(f"should be known: {unknown}") from None
    return text


def _language(text: str) -> str:
    if text not in LANGUAGES:
        raise ValueError(f"should be one of {', '.join(LANGUAGES)}")
    return text


def _theme(text: str) -> str:
    if text not in THEMES:
        raise ValueError(f"should be one of {', '.join(THEMES)}")
    return text


Text = Annotated[str, Field(max_length=LONGEST), AfterValidator(_told)]
Address = Annotated[str, Field(max_length=LONGEST), AfterValidator(_address)]
Email = Annotated[str, Field(max_length=LONGEST), AfterValidator(_email)]


class Party(BaseModel):
    """A person, or an office."""

    model_config = STRICT

    name: Text
    email: Email | None = None
    url: Address | None = None


class Contributor(Party):
    """Somebody who made the table, and what they did."""

    role: Text = "creator"
    organisation: Text | None = None


class Origin(BaseModel):
    """Where the original table comes from."""

    model_config = STRICT

    title: Text
    url: Address | None = None
    email: Email | None = None


class Health(BaseModel):
    """What HealthDCAT-AP asks for besides."""

    model_config = STRICT

    category: list[Address] = Field(min_length=1)
    """Of electronic health data: addresses of its vocabulary."""
    theme: list[Address] = []
    access_body: Party | None = None
    population: Text | None = None
    """Who is covered."""
    least_age: int | None = Field(default=None, ge=0)
    most_age: int | None = Field(default=None, ge=0)
    purpose: Text | None = None
    legal_basis: Text | None = None
    coding_systems: list[Address] = []
    legislation: list[Address] = ["http://data.europa.eu/eli/reg/2025/327/oj"]
    """By default the regulation on the European Health Data Space."""


class Details(BaseModel):
    """All that is told of a table beside what it and its protocol tell."""

    model_config = STRICT

    title: Text
    licence: Annotated[str, AfterValidator(_licence)]
    publisher: Party
    contact: Party
    name: Annotated[str, Field(pattern=r"^[a-z0-9][-a-z0-9._]*$", max_length=200)] | None = None
    description: Text | None = None
    version: Text = "1.0.0"
    date: dt.date
    url: Address | None = None
    """Where the folder will lie."""
    language: Annotated[str, AfterValidator(_language)] = "en"
    theme: Annotated[str, AfterValidator(_theme)] | None = None
    keywords: list[Text] = []
    place: Address | None = None
    from_: dt.date | None = Field(default=None, alias="from")
    """The first and the last day that the table is about."""
    to: dt.date | None = None
    contributors: list[Contributor] = []
    sources: list[Origin] = []
    health: Health | None = None

    @model_validator(mode="after")
    def _reachable(self) -> Details:
        if self.from_ is not None and self.to is not None and self.from_ > self.to:
            raise ValueError("from should not be after to")
        if self.contact.email is None and self.contact.url is None:
            raise ValueError("contact should have an email or a url")
        return self

    @property
    def slug(self) -> str:
        """The name that machines use."""
        return self.name or slug_of(self.title)

    @property
    def terms(self) -> Licence:
        """The licence."""
        return licence_of(self.licence)

    @property
    def makers(self) -> list[Contributor]:
        """Those to be named as authors: the creators or, if there are none, the publisher."""
        made = [one for one in self.contributors if one.role == "creator"]
        return made or [Contributor(name=self.publisher.name, email=self.publisher.email, url=self.publisher.url)]


def slug_of(title: str) -> str:
    """A title in small letters, digits and hyphens.

    >>> slug_of("Übergewicht in Ashford, 2024")
    'ubergewicht-in-ashford-2024'
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:100] or "table"


def details_of(path: Path | None, given: dict[str, Any], *, health: bool, today: dt.date) -> Details:
    """What a file says, with what is given by options instead."""
    content = read_toml(path) if path is not None else {}
    for name, value in given.items():
        if value is not None:
            content[name] = value
    for name in ("publisher", "contact"):
        if isinstance(content.get(name), str):
            content[name] = _party(content[name])
    for name, option in NEEDED.items():
        if name not in content:
            where = f"{path} has none" if path is not None else "funnel publish --template publish.toml begins a file"
            raise InvalidInput(f"a published table needs a {name}: pass {option}, or --details; {where}")
    content.setdefault("date", today)
    found = checked(Details, content, str(path) if path is not None else "options")
    if health and found.health is None:
        raise InvalidInput("--health needs a part [health] of the file that --details names: see --template")
    return found if health else found.model_copy(update={"health": None})


def _party(text: str) -> dict[str, str]:
    """A publisher or a contact as typed: a name, an e-mail address, or both, as in “Open data <data@example.org>”."""
    both = re.fullmatch(r"\s*(.*?)\s*<([^<>]+)>\s*", text)
    if both:
        return {"name": both[1] or both[2], "email": both[2]}
    return {"name": text.strip(), **({"email": text.strip()} if EMAIL.fullmatch(text.strip()) else {})}


NEEDED = {"title": "--title", "licence": "--licence", "publisher": "--publisher", "contact": "--contact"}
"""What every portal asks for, and the option that says it."""
TEMPLATE = """\
# What is told of a released table beside what it and its protocol tell: funnel publish --details publish.toml
# Lines that begin with # say nothing; delete the # where you have something to say.

title = "…"                      # for people
licence = "CC-BY-4.0"            # {licences}, or an address
publisher = {{ name = "…", url = "https://example.org" }}
contact = {{ name = "…", email = "data@example.org" }}

# name = "short-name"            # for machines; made from the title by default
# description = "…"              # by default: which columns of how many people
# version = "1.0.0"
# date = {today}              # of publication; by default today
# url = "https://example.org/data/"   # where the folder will lie
# language = "en"
# theme = "HEAL"                 # {themes}
# keywords = ["…", "…"]
# place = "http://publications.europa.eu/resource/authority/country/NLD"
# from = 2024-01-01              # the first and the last day that the table is about
# to = 2024-12-31

# [[contributors]]               # as often as there are any; creators are the authors in CITATION.cff
# name = "…"
# role = "creator"
# organisation = "…"
# email = "somebody@example.org"

# [[sources]]                    # where the original table comes from
# title = "…"
# url = "https://example.org/register"

# [health]                       # HealthDCAT-AP, with --health
# category = ["https://example.org/category"]    # of electronic health data, as an address
# theme = []
# access-body = {{ name = "…", email = "access@example.org" }}
# population = "…"               # who is covered
# least-age = 18
# most-age = 90
# purpose = "…"
# legal-basis = "…"
# coding-systems = ["https://www.wikidata.org/entity/P494"]
"""
"""What funnel publish --template writes."""


def template(today: dt.date) -> str:
    """A file publish.toml to be filled in."""
    return TEMPLATE.format(licences=", ".join(map(str, LICENCES)), themes=", ".join(THEMES), today=today.isoformat())
