"""dcat.jsonld: DCAT-AP 3.0, and HealthDCAT-AP where it is asked for."""

from __future__ import annotations

from typing import Any

from privacyfunnel.publishing.croissant import cite_as
from privacyfunnel.publishing.described import MEDIA, PARQUET, TABLE, WHAT, Described, File, without_nothing
from privacyfunnel.publishing.details import LANGUAGES, Health, Party

EUROPE = "http://publications.europa.eu/resource/authority/"
CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcatap": "http://data.europa.eu/r5r/",
    "dct": "http://purl.org/dc/terms/",
    "dpv": "https://w3id.org/dpv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "healthdcatap": "http://healthdataportal.eu/ns/health#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
DISTRIBUTED = (TABLE, PARQUET)
"""Files that are the table; the others are about it."""


def dcat(described: Described) -> dict[str, Any]:
    """A catalogue of this one dataset. Without an address of the folder, files are named from where this one lies."""
    details = described.details
    base = {"@base": details.url if details.url.endswith("/") else f"{details.url}/"} if details.url else {}
    return {
        "@context": {**base, **CONTEXT},
        "@id": "dcat.jsonld",
        "@type": "dcat:Catalog",
        "dct:title": _text(described, details.title),
        "dct:description": _text(described, described.description),
        "dct:publisher": _agent(details.publisher, "publisher"),
        "dct:language": {"@id": f"{EUROPE}language/{LANGUAGES[details.language]}"},
        "dcat:dataset": _dataset(described),
    }


def _dataset(described: Described) -> dict[str, Any]:
    details = described.details
    theme = "HEAL" if details.health is not None and details.theme is None else details.theme
    return without_nothing(
        {
            "@id": "./",
            "@type": "dcat:Dataset",
            "dct:identifier": details.url or details.slug,
            "dct:title": _text(described, details.title),
            "dct:description": _text(described, described.description),
            "dct:publisher": {"@id": "#publisher"},
            "dct:creator": [_agent(one, f"creator-{i}") for i, one in enumerate(details.makers, start=1)],
            "dcat:contactPoint": _contact(details.contact),
            "dcat:keyword": [_text(described, word) for word in details.keywords],
            "dcat:theme": {"@id": f"{EUROPE}data-theme/{theme}"} if theme else None,
            "dct:language": {"@id": f"{EUROPE}language/{LANGUAGES[details.language]}"},
            "dct:issued": {"@type": "xsd:date", "@value": details.date.isoformat()},
            "dcat:version": details.version,
            "dct:accessRights": {"@id": f"{EUROPE}access-right/PUBLIC"},
            "dct:accrualPeriodicity": {"@id": f"{EUROPE}frequency/NEVER"},
            "dct:spatial": {"@id": details.place} if details.place else None,
            "dct:temporal": _period(described),
            "dct:provenance": {
                "@type": "dct:ProvenanceStatement",
                "rdfs:label": _english(f"{described.processing} {described.promise}"),
            },
            "dct:source": [{"@id": one.url} for one in details.sources if one.url],
            "dct:bibliographicCitation": cite_as(described),
            "foaf:page": [_page(file) for file in described.files if file.name not in DISTRIBUTED],
            "dcat:distribution": [
                _distribution(described, file) for file in described.files if file.name in DISTRIBUTED
            ],
            **(_health(described, details.health) if details.health is not None else {}),
        }
    )


def _distribution(described: Described, file: File) -> dict[str, Any]:
    terms = described.details.terms
    return without_nothing(
        {
            "@id": f"#{file.name}",
            "@type": "dcat:Distribution",
            "dct:title": _english(file.name),
            "dct:description": _english(WHAT[file.name]),
            "dcat:accessURL": {"@id": file.name},
            "dcat:downloadURL": {"@id": file.name},
            "dcat:mediaType": {"@id": f"http://www.iana.org/assignments/media-types/{MEDIA[file.name]}"},
            "dct:format": {"@id": f"{EUROPE}file-type/CSV"} if file.name == TABLE else None,
            "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(file.size)},
            "dct:license": {"@id": terms.address, "@type": "dct:LicenseDocument"},
            "dct:conformsTo": {"@id": "datapackage.json", "@type": "dct:Standard"} if file.name == TABLE else None,
            "spdx:checksum": {
                "@type": "spdx:Checksum",
                "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
                "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
            },
        }
    )


def _page(file: File) -> dict[str, Any]:
    return {"@id": file.name, "@type": "foaf:Document", "dct:title": _english(WHAT.get(file.name, file.name))}


def _agent(party: Party, place: str) -> dict[str, Any]:
    return without_nothing(
        {
            "@id": f"#{place}",
            "@type": "foaf:Agent",
            "foaf:name": party.name,
            "foaf:mbox": {"@id": f"mailto:{party.email}"} if party.email else None,
            "foaf:homepage": {"@id": party.url} if party.url else None,
        }
    )


def _contact(party: Party) -> dict[str, Any]:
    return without_nothing(
        {
            "@id": "#contact",
            "@type": "vcard:Kind",
            "vcard:fn": party.name,
            "vcard:hasEmail": {"@id": f"mailto:{party.email}"} if party.email else None,
            "vcard:hasURL": {"@id": party.url} if party.url else None,
        }
    )


def _period(described: Described) -> dict[str, Any] | None:
    details = described.details
    days = {"dcat:startDate": details.from_, "dcat:endDate": details.to}
    told = {key: {"@type": "xsd:date", "@value": day.isoformat()} for key, day in days.items() if day is not None}
    return {"@type": "dct:PeriodOfTime", **told} if told else None


def _health(described: Described, health: Health) -> dict[str, Any]:
    """What HealthDCAT-AP adds for open data; it is a draft, in which what must be said is not settled."""
    basis = {"@type": "dpv:LegalBasis", "dct:description": _text(described, health.legal_basis or "")}
    purpose = {"@type": "dpv:Purpose", "dct:description": _text(described, health.purpose or "")}
    return {
        "healthdcatap:healthCategory": [{"@id": one} for one in health.category],
        "healthdcatap:healthTheme": [{"@id": one} for one in health.theme],
        "healthdcatap:hdab": _agent(health.access_body, "access-body") if health.access_body else None,
        "healthdcatap:numberOfRecords": _whole(described.rows),
        "healthdcatap:populationCoverage": _text(described, health.population) if health.population else None,
        "healthdcatap:minTypicalAge": _whole(health.least_age),
        "healthdcatap:maxTypicalAge": _whole(health.most_age),
        "healthdcatap:hasCodingSystem": [{"@id": one, "@type": "dct:Standard"} for one in health.coding_systems],
        "dcatap:applicableLegislation": [{"@id": one} for one in health.legislation],
        "dpv:hasLegalBasis": basis if health.legal_basis else None,
        "dpv:hasPurpose": purpose if health.purpose else None,
    }


def _whole(number: int | None) -> dict[str, str] | None:
    return None if number is None else {"@type": "xsd:nonNegativeInteger", "@value": str(number)}


def _text(described: Described, text: str) -> dict[str, str]:
    return {"@language": described.details.language, "@value": text}


def _english(text: str) -> dict[str, str]:
    return {"@language": "en", "@value": text}
