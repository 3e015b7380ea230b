"""The JSON Schema in the documentation: it is that of the reader, and every kind of file is valid under it."""

import json
from pathlib import Path

import jsonschema
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.schema import as_text, json_schema
from privacyfunnel.protocols.step import KINDS
from wide_files import gaussian, wide_protocol

WRITTEN = Path(__file__).parents[2] / "docs" / "protocol.schema.json"
JOINT = pf.Joint([[40, 30, 20, 5], [5, 20, 60, 10]], attributes=["town"])
FIRST = pf.optimise(JOINT, pf.LIP(0.3))
FILES = {
    "channel": lambda: FIRST,
    "by_history": lambda: pf.optimise(JOINT, pf.LIP(0.8), after=FIRST),
    "by_model": wide_protocol,
    "by_model, listed": lambda: wide_protocol(gaussian(), listed=True),
    "by_model, of three secrets": lambda: wide_protocol(notion=pf.LIP(0.2), secrets=3),
}


def test_the_schema_in_the_documentation_is_that_of_this_version():
    assert WRITTEN.read_text(encoding="utf-8") == as_text(), (
        "python -m privacyfunnel.protocols.schema > docs/protocol.schema.json"
    )


def test_every_kind_of_step_is_tried():
    assert {name.split(",")[0] for name in FILES} == set(KINDS)


@pytest.mark.parametrize("kind", FILES)
def test_files_of_every_kind_are_valid_and_say_what_they_are(kind):
    protocol = FILES[kind]()
    content = json.loads(to_text(protocol))
    jsonschema.validate(content, json_schema())
    assert content["schema"] == "privacyfunnel/1"
    assert [step["step"] for step in content["chain"]] == [kind.split(",")[0]] == [protocol.step.kind]
    assert to_text(from_text(to_text(protocol))) == to_text(protocol)


@pytest.mark.parametrize("kind", FILES)
def test_what_stands_nowhere_in_the_schema_is_not_valid(kind):
    content = json.loads(to_text(FILES[kind]()))
    for place in (content, content["chain"][0]):
        place["more"] = 1
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content, json_schema())
        del place["more"]
