"""datapackage.json: Data Package 2.0."""

from __future__ import annotations

from typing import Any

from privacyfunnel.publishing.described import MEDIA, PARQUET, TABLE, WHAT, Described, Field, File, without_nothing
from privacyfunnel.tables.published_folder import OURS

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
FORMATS = {TABLE: "csv", PARQUET: "apache-parquet"}
"""Parquet has a name here by which frictionless checks its digest as it does that of any file: to read the rows in it
takes a further package, which the CSV does not."""
CATEGORICAL = ("string", "integer")
"""Types of columns that may have categories."""


def datapackage(described: Described) -> dict[str, Any]:
    """The descriptor of the folder."""
    details = described.details
    return without_nothing(
        {
            "$schema": PROFILE,
            "name": details.slug,
            "title": details.title,
            "description": described.description,
            "version": details.version,
            "created": f"{details.date.isoformat()}T00:00:00Z",
            "homepage": details.url,
            "keywords": list(details.keywords),
            "licenses": [
                without_nothing(
                    {"name": details.terms.name, "path": details.terms.address, "title": details.terms.title}
                )
            ],
            "contributors": _contributors(described),
            "sources": [
                without_nothing({"title": one.title, "path": one.url, "email": one.email}) for one in details.sources
            ],
            "resources": [_resource(described, file) for file in described.files],
        }
    )


def _contributors(described: Described) -> list[dict[str, Any]]:
    """Those who are named, then publisher and contact."""
    details = described.details
    named = [
        {"title": one.name, "roles": [one.role], "organization": one.organisation, "path": one.url, "email": one.email}
        for one in details.contributors
    ]
    for role, party in (("publisher", details.publisher), ("contact", details.contact)):
        named.append({"title": party.name, "roles": [role], "path": party.url, "email": party.email})
    return [without_nothing(one) for one in named]


def _resource(described: Described, file: File) -> dict[str, Any]:
    stem, _, ending = file.name.rpartition(".")
    content: dict[str, Any] = {
        "name": stem if file.name != PARQUET else f"{stem}-parquet",
        "path": file.name,
        "description": WHAT.get(file.name, ""),
        "format": FORMATS.get(file.name, ending),
        "mediatype": MEDIA.get(file.name, ""),
        "bytes": file.size,
        "hash": f"sha256:{file.sha256}",
    }
    if file.name in (TABLE, PARQUET):
        content[OURS] = {"rows": "fitted" if described.fitted else "other"}
    if file.name == TABLE:
        dialect = {"delimiter": ",", "lineTerminator": "\n", "quoteChar": '"', "doubleQuote": True}
        schema = {"fields": [_field(field) for field in described.fields], "missingValues": [""]}
        content |= {"type": "table", "encoding": "utf-8", "dialect": dialect, "schema": schema}
    return without_nothing(content)


def _field(field: Field) -> dict[str, Any]:
    values = list(field.values)
    constraints = {"enum": values} if field.missing else {"required": True, "enum": values}
    content: dict[str, Any] = {"name": field.name, "type": field.type, "description": field.words}
    if field.type in CATEGORICAL and values:
        content |= {"categories": values, "categoriesOrdered": field.ordered}
    return {**content, "constraints": constraints if values else {}}
