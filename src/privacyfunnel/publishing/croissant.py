"""croissant.json: MLCommons Croissant 1.0, with the fields of responsible AI (rai)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from privacyfunnel.publishing.described import MEDIA, TABLE, WHAT, Described, Field, without_nothing

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that Croissant 1.0 prescribes."""
CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
TYPES = {"string": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}
PLAIN = re.compile(r"(?!column_)[A-Za-z][A-Za-z0-9_-]*")
"""Names that are nothing but names."""
ROWS = "rows"
"""The name of the one set of records."""


def croissant(described: Described) -> dict[str, Any]:
    """The description of the folder for those who train models."""
    details, names = described.details, names_of(described.fields)
    return without_nothing(
        {
            "@context": CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": CONFORMS,
            "name": details.slug,
            "alternateName": details.title,
            "description": described.description,
            "license": details.terms.address,
            "url": details.url or details.publisher.url or details.contact.url or f"mailto:{details.contact.email}",
            "version": details.version,
            "datePublished": details.date.isoformat(),
            "inLanguage": details.language,
            "isLiveDataset": False,
            "keywords": list(details.keywords),
            "creator": [_person(one.name, one.email, one.url) for one in details.makers],
            "publisher": _person(details.publisher.name, details.publisher.email, details.publisher.url),
            "citeAs": cite_as(described),
            **_responsible(described),
            "distribution": [
                {
                    "@type": "cr:FileObject",
                    "@id": file.name,
                    "name": file.name,
                    "description": WHAT.get(file.name, file.name),
                    "contentUrl": file.name,
                    "contentSize": f"{file.size} B",
                    "encodingFormat": MEDIA.get(file.name, "application/octet-stream"),
                    "sha256": file.sha256,
                }
                for file in described.files
            ],
            "recordSet": [
                {
                    "@type": "cr:RecordSet",
                    "@id": ROWS,
                    "name": ROWS,
                    "description": "One record for each released row.",
                    "field": [_field(name, field) for name, field in zip(names, described.fields, strict=True)],
                }
            ],
        }
    )


def cite_as(described: Described) -> str:
    """How the table is cited."""
    details = described.details
    makers = ", ".join(one.name for one in details.makers)
    return f"{makers} ({details.date.year}): {details.title}, version {details.version}. {details.publisher.name}."


def _person(name: str, email: str | None, url: str | None) -> dict[str, Any]:
    return without_nothing({"@type": "sc:Organization", "name": name, "email": email, "url": url})


def names_of(fields: Sequence[Field]) -> list[str]:
    """What fields are called: as their columns, or by a number where a name holds signs that mean something."""
    return [field.name if PLAIN.fullmatch(field.name) else f"column_{i}" for i, field in enumerate(fields, start=1)]


def _field(name: str, field: Field) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{ROWS}/{name}",
        "name": f"{ROWS}/{name}",
        "description": f"{field.name}: {field.words}",
        "dataType": TYPES[field.type],
        "source": {"fileObject": {"@id": TABLE}, "extract": {"column": field.name}},
    }


def _responsible(described: Described) -> dict[str, Any]:
    """What was done to the data, what it tells of people, and what it is not for."""
    protocol, sources = described.protocol, [one.title for one in described.details.sources]
    return {
        "rai:dataCollection": "From " + "; ".join(sources) if sources else "",
        "rai:dataManipulationProtocol": described.processing,
        "rai:dataPreprocessingProtocol": [f"{field.name}: {field.words}" for field in described.fields],
        "rai:personalSensitiveInformation": described.personal,
        "rai:dataLimitations": [
            described.counting,
            described.mind[0],
            f"Whether {protocol.secret} can be told from a row is limited on purpose: no model of it can be trained.",
        ],
        "rai:dataUseCases": (
            "Counting, tables, comparisons and models of the released columns. With funnel estimate and funnel "
            f"regress errors hold how rows were drawn. Not: learning about single people, or about {protocol.secret}."
        ),
        "rai:dataBiases": (
            "Rare combinations of values are read as the nearest that enough people have, so that shares of rare "
            "values are less exact."
            if protocol.at_least > 1
            else ""
        ),
        "rai:dataSocialImpact": described.promise,
        "rai:dataReleaseMaintenancePlan": " ".join(described.mind[1:]),
    }
