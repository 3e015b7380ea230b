"""Published folders pass the validators that portals use, and these can fail."""

import hashlib
import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import yaml

from privacyfunnel.publishing.described import OWN
from publishing.shapes import DCAT_AP, HEALTH

frictionless = pytest.importorskip("frictionless")
pyshacl = pytest.importorskip("pyshacl")
rdflib = pytest.importorskip("rdflib")
HOME = "https://portal.example.org/somewhere/dcat.jsonld"
OLD_GRAPHS = "ignore:ConjunctiveGraph is deprecated:DeprecationWarning"
"""What rdflib says of its own reader of JSON-LD."""


@pytest.fixture(params=["least told", "all told"])
def folder(request, published, wide) -> Path:
    return published if request.param == "least told" else wide[1]


def test_a_folder_holds_what_it_should_and_nothing_else(folder):
    assert {path.name for path in folder.iterdir()} == OWN


def test_frictionless_finds_types_values_and_digests_as_described(folder):
    package = frictionless.Package(str(folder / "datapackage.json"))
    report = package.validate()
    assert report.valid, report.flatten(["message"])
    assert report.tasks[0].type == "table"
    assert report.tasks[0].stats["rows"] == 1_200


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "protocol.json", "report.html"])
def test_frictionless_notices_a_changed_file(name, published, tmp_path):
    shutil.copytree(published, tmp_path / "changed")
    with (tmp_path / "changed" / name).open("ab") as file:
        file.write(b" \n")
    assert not frictionless.Package(str(tmp_path / "changed" / "datapackage.json")).validate().valid


def test_a_data_package_has_what_version_2_asks_for(folder):
    content = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    assert content["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    assert content["licenses"][0]["path"].startswith("https://")
    assert {"publisher", "contact"} <= {role for one in content["contributors"] for role in one["roles"]}
    assert {resource.get("type", "table") for resource in content["resources"]} == {"table"}  # the only type there is
    for resource in content["resources"]:
        data = (folder / resource["path"]).read_bytes()
        assert (resource["bytes"], resource["hash"]) == (len(data), "sha256:" + hashlib.sha256(data).hexdigest())
    fields = content["resources"][0]["schema"]["fields"]
    assert all(field["type"] in ("string", "integer") for field in fields if "categories" in field)
    assert content["resources"][0]["schema"]["missingValues"] == [""]


def test_categories_are_ordered_where_values_are(wide):
    content = json.loads((wide[1] / "datapackage.json").read_text(encoding="utf-8"))
    fields = {field["name"]: field for field in content["resources"][0]["schema"]["fields"]}
    assert {name: field["type"] for name, field in fields.items()} == {
        "children": "integer",
        "dose": "number",
        "code": "string",
        "born": "string",
        "age": "string",
    }
    assert fields["age"]["categories"] == ["[0, 40)", "[40, 60)", "[60, 120]"]
    assert fields["age"]["categoriesOrdered"]
    assert not fields["code"]["categoriesOrdered"]
    assert "required" not in fields["children"]["constraints"]
    assert fields["age"]["constraints"]["required"]


@pytest.mark.filterwarnings(OLD_GRAPHS)
def test_mlcroissant_reads_every_row_and_finds_nothing_wrong(folder, caplog):
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(str(folder / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    assert caplog.text == ""
    assert sum(1 for _ in dataset.records("rows")) == 1_200
    told = dataset.metadata
    assert "ill is not released" in told.personal_sensitive_information[0]
    assert told.data_preprocessing_protocol  # the library looks for rai:dataManipulationProtocol under another name
    assert told.data_limitations
    assert told.data_use_cases
    assert told.data_release_maintenance_plan


@pytest.mark.filterwarnings(OLD_GRAPHS)
def test_mlcroissant_notices_what_is_missing(published, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    content = json.loads((published / "croissant.json").read_text(encoding="utf-8"))
    content["recordSet"][0]["field"][0]["source"]["fileObject"]["@id"] = "elsewhere.csv"
    (tmp_path / "croissant.json").write_text(json.dumps(content))
    with pytest.raises(mlcroissant.ValidationError):
        mlcroissant.Dataset(str(tmp_path / "croissant.json"))


def graph(path, home=HOME):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ConjunctiveGraph is deprecated", DeprecationWarning)
        return rdflib.Graph().parse(path, format="json-ld", publicID=home)


def conforms(data, shapes):
    found, _, words = pyshacl.validate(data, shacl_graph=rdflib.Graph().parse(data=shapes, format="turtle"))
    return found, words


def test_dcat_has_what_the_shapes_of_dcat_ap_ask_for(folder):
    found, words = conforms(graph(folder / "dcat.jsonld"), DCAT_AP)
    assert found, words


def test_dcat_has_what_health_portals_ask_for_only_where_it_was_asked_for(published, wide):
    found, words = conforms(graph(wide[1] / "dcat.jsonld"), HEALTH)
    assert found, words
    assert not conforms(graph(published / "dcat.jsonld"), HEALTH)[0]


@pytest.mark.parametrize("property_", ["title", "description", "publisher"])
def test_the_shapes_notice_what_is_missing(property_, published):
    data = graph(published / "dcat.jsonld")
    data.remove((rdflib.URIRef(HOME), rdflib.URIRef(f"http://purl.org/dc/terms/{property_}"), None))
    assert not conforms(data, DCAT_AP)[0]


def test_addresses_of_files_follow_from_where_the_folder_lies(published, wide):
    access = rdflib.URIRef("http://www.w3.org/ns/dcat#accessURL")
    here = {str(address) for address in graph(published / "dcat.jsonld").objects(None, access)}
    assert here == {f"https://portal.example.org/somewhere/table.{ending}" for ending in ("csv", "parquet")}
    there = {str(address) for address in graph(wide[1] / "dcat.jsonld").objects(None, access)}
    assert there == {f"https://example.org/data/illness/table.{ending}" for ending in ("csv", "parquet")}


def test_the_citation_is_of_the_format(folder):
    content = yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "type"} <= set(content)
    assert content["type"] == "dataset"
    assert ("license" in content) != ("license-url" in content)
    assert all(set(author) <= {"name", "email", "website"} for author in content["authors"])


def test_the_package_itself_needs_none_of_the_validators():
    listing = "import sys, privacyfunnel.publishing.publish, privacyfunnel.cli.publish; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert not {"frictionless", "mlcroissant", "pyshacl", "rdflib"} & set(done.stdout.split())
