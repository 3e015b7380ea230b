"""What DCAT-AP 3.0 makes mandatory, as SHACL shapes of our own: the official ones are in no package registry."""

PREFIXES = """
@prefix adms: <http://www.w3.org/ns/adms#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcatap: <http://data.europa.eu/r5r/> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix health: <http://healthdataportal.eu/ns/health#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix spdx: <http://spdx.org/rdf/terms#> .
@prefix vcard: <http://www.w3.org/2006/vcard/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <urn:shapes:> .
"""
DCAT_AP = (
    PREFIXES
    + """
:Catalogue a sh:NodeShape ; sh:targetClass dcat:Catalog ;
  sh:property [ sh:path dct:title ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ;
  sh:property [ sh:path dct:description ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ;
  sh:property [ sh:path dct:publisher ; sh:minCount 1 ; sh:maxCount 1 ; sh:class foaf:Agent ] ;
  sh:property [ sh:path dcat:dataset ; sh:minCount 1 ; sh:class dcat:Dataset ] .
:Dataset a sh:NodeShape ; sh:targetClass dcat:Dataset ;
  sh:property [ sh:path dct:title ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ;
  sh:property [ sh:path dct:description ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ;
  sh:property [ sh:path dct:publisher ; sh:maxCount 1 ; sh:class foaf:Agent ] ;
  sh:property [ sh:path dct:creator ; sh:class foaf:Agent ] ;
  sh:property [ sh:path dcat:contactPoint ; sh:minCount 1 ; sh:class vcard:Kind ] ;
  sh:property [ sh:path dcat:distribution ; sh:minCount 1 ; sh:class dcat:Distribution ] ;
  sh:property [ sh:path dcat:keyword ; sh:nodeKind sh:Literal ] ;
  sh:property [ sh:path dcat:theme ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dct:accessRights ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dct:accrualPeriodicity ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dct:issued ; sh:maxCount 1 ; sh:datatype xsd:date ] ;
  sh:property [ sh:path dct:temporal ; sh:class dct:PeriodOfTime ] ;
  sh:property [ sh:path dct:provenance ; sh:class dct:ProvenanceStatement ] ;
  sh:property [ sh:path dct:spatial ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path foaf:page ; sh:class foaf:Document ] .
:Distribution a sh:NodeShape ; sh:targetClass dcat:Distribution ;
  sh:property [ sh:path dcat:accessURL ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dcat:downloadURL ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dct:license ; sh:minCount 1 ; sh:maxCount 1 ; sh:class dct:LicenseDocument ] ;
  sh:property [ sh:path dct:format ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dcat:mediaType ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dcat:byteSize ; sh:maxCount 1 ; sh:datatype xsd:nonNegativeInteger ] ;
  sh:property [ sh:path spdx:checksum ; sh:maxCount 1 ; sh:class spdx:Checksum ] .
:Agent a sh:NodeShape ; sh:targetClass foaf:Agent ;
  sh:property [ sh:path foaf:name ; sh:minCount 1 ; sh:nodeKind sh:Literal ] .
:Kind a sh:NodeShape ; sh:targetClass vcard:Kind ;
  sh:or ( [ sh:property [ sh:path vcard:hasEmail ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ]
          [ sh:property [ sh:path vcard:hasURL ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ] ) .
:Checksum a sh:NodeShape ; sh:targetClass spdx:Checksum ;
  sh:property [ sh:path spdx:algorithm ; sh:minCount 1 ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path spdx:checksumValue ; sh:minCount 1 ; sh:maxCount 1 ; sh:datatype xsd:hexBinary ] .
"""
)
HEALTH = (
    PREFIXES
    + """
:HealthDataset a sh:NodeShape ; sh:targetClass dcat:Dataset ;
  sh:property [ sh:path health:healthCategory ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dcatap:applicableLegislation ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dct:accessRights ; sh:minCount 1 ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dct:identifier ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ;
  sh:property [ sh:path dcat:theme ; sh:minCount 1 ;
                sh:hasValue <http://publications.europa.eu/resource/authority/data-theme/HEAL> ] ;
  sh:property [ sh:path dct:publisher ; sh:minCount 1 ] ;
  sh:property [ sh:path dct:provenance ; sh:minCount 1 ] ;
  sh:property [ sh:path health:hdab ; sh:class foaf:Agent ] ;
  sh:property [ sh:path health:numberOfRecords ; sh:maxCount 1 ; sh:datatype xsd:nonNegativeInteger ] ;
  sh:property [ sh:path health:minTypicalAge ; sh:maxCount 1 ; sh:datatype xsd:nonNegativeInteger ] ;
  sh:property [ sh:path health:maxTypicalAge ; sh:maxCount 1 ; sh:datatype xsd:nonNegativeInteger ] ;
  sh:property [ sh:path health:populationCoverage ; sh:nodeKind sh:Literal ] .
"""
)
"""What every draft of HealthDCAT-AP so far asks of open data; which of it will be mandatory is not settled."""
