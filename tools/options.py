"""Write what follows from the Spec into the documentation: the tables of docs/options.md, and docs/spec.schema.json."""

from __future__ import annotations

import json
from pathlib import Path

from privacyfunnel.spec.reference import schema, table

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN = "<!-- made by tools/options.py -->\n"


def page() -> str:
    """The page of options, with its tables as they are now."""
    own, _, _ = (DOCS / "options.md").read_text(encoding="utf-8").partition(BEGIN)
    return f"{own}{BEGIN}\n{table()}"


def schema_text() -> str:
    """The schema as a file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (DOCS / "options.md").write_text(page(), encoding="utf-8")
    (DOCS / "spec.schema.json").write_text(schema_text(), encoding="utf-8")
