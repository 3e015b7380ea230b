"""CITATION.cff of a published folder: how it is cited, in the Citation File Format 1.2.0."""

from __future__ import annotations

import json
from typing import Any

from privacyfunnel.publishing.described import Described, without_nothing

SPDX = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "ODC-By-1.0", "ODbL-1.0", "PDDL-1.0", "OGL-UK-3.0")
"""Licences that the format knows by name; others have an address."""


def citation(described: Described) -> str:
    """The file: YAML, in which every value is written as JSON writes it."""
    details = described.details
    content = without_nothing(
        {
            "cff-version": "1.2.0",
            "message": "If you use this table, please cite it as below.",
            "type": "dataset",
            "title": details.title,
            "abstract": described.description,
            "authors": [_entity(one.name, one.email, one.url) for one in details.makers],
            "contact": [_entity(details.contact.name, details.contact.email, details.contact.url)],
            "version": details.version,
            "date-released": details.date.isoformat(),
            "url": details.url,
            "keywords": list(details.keywords),
            "license": details.terms.name if details.terms.name in SPDX else None,
            "license-url": details.terms.address if details.terms.name not in SPDX else None,
        }
    )
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in content.items())


def _entity(name: str, email: str | None, url: str | None) -> dict[str, Any]:
    return without_nothing({"name": name, "email": email, "website": url})
