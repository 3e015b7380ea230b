"""The JSON Schema of the protocol file, for those who read it without this package; docs/protocol.schema.json is this.

    python -m privacyfunnel.protocols.schema > docs/protocol.schema.json

It says what stands where. That numbers fit together, probabilities sum to 1 and the digest fits is for `load`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from privacyfunnel.protocols.file import EnvelopeInFile
from privacyfunnel.protocols.json_file import SCHEMA


def json_schema() -> dict[str, Any]:
    """Of every file that this version writes."""
    found = EnvelopeInFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": SCHEMA}


def as_text() -> str:
    """As it stands in the documentation."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
