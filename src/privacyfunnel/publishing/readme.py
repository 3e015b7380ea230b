"""README.md of a published folder: for readers, with commands in Python and R that can be copied."""

from __future__ import annotations

import json
from collections.abc import Callable

from privacyfunnel.distribution.column import EXACT
from privacyfunnel.proof.not_proven import not_proven
from privacyfunnel.protocols.step import Kind
from privacyfunnel.publishing.croissant import cite_as
from privacyfunnel.publishing.described import CHECK, PARQUET, PROTOCOL, R_FILE, REPORT, TABLE, Described, Field
from privacyfunnel.publishing.details import Party
from privacyfunnel.tables.published_folder import PACKAGE

SHOWN = 12
"""Values of a column that are listed; the others are in datapackage.json."""
MOST_32 = 2**31 - 1
"""The largest whole number of R."""
PANDAS = {"string": "string", "integer": "Int64", "number": "Float64", "boolean": "boolean"}
R = {"string": "character", "number": "numeric", "boolean": "logical"}
"""What columns are called there."""


def readme(described: Described, with_r: bool) -> str:
    """The page, as Markdown."""
    details, protocol = described.details, described.protocol
    parts = [
        f"# {_plain(details.title)}",
        _plain(described.description),
        f"{described.rows:,} rows. Published by {_plain(details.publisher.name)} on {details.date.isoformat()}, "
        f"version {_plain(details.version)}, under {_plain(details.terms.title)} ({_linked(details.terms.address)}). "
        f"Questions: {_whom(details.contact)}.",
        "## What this is",
        "Rows of real people, redrawn at random so that they tell little about what is not here: "
        f"**{_plain(protocol.secret)}**. {_plain(described.promise)}",
        f"**Reading it.** {_plain(described.counting)}",
        "**Mind.**\n\n" + "\n".join(f"- {_plain(one)}" for one in described.mind),
        f"`{REPORT}` says how the promise is proven, and what is not promised.",
        f"**Check it yourself.** `{CHECK}` {CHECKS[protocol.step.kind]}. It needs Python 3.10 and nothing else; "
        f"read it first. The button in `{REPORT}` does the same in a browser.",
        _code("sh", f"python3 {CHECK} {PROTOCOL}"),
        *map(_plain, not_proven(protocol)),
        "## The columns",
        *([_plain(protocol.fill.words())] if protocol.fill is not None else []),
        _columns(described.fields),
        "## The table in Python",
        _code("python", _pandas(described.fields)),
        _code("python", f'import polars as pl\n\ntable = pl.read_parquet("{PARQUET}")\nprint(table)'),
        "Digests, types and values are checked by [frictionless](https://framework.frictionlessdata.io):",
        _code(
            "python",
            'from frictionless import Package\n\nprint(Package("datapackage.json").validate().valid)',
        ),
        "## The table in R",
        _code("r", _in_r(described.fields)),
        *_estimates(described, with_r),
        "## Cite it",
        f"{_plain(cite_as(described))} See `CITATION.cff`.",
        "## The files",
        "\n".join(f"- `{file.name}`: {file.size:,} bytes, SHA-256 `{file.sha256}`" for file in described.files),
    ]
    return "\n\n".join(parts) + "\n"


def _whom(contact: Party) -> str:
    """Whom to ask, and how."""
    told = [contact.name, contact.email, contact.url]
    return ", ".join(dict.fromkeys(_linked(one) if one == contact.url else _plain(one) for one in told if one))


def _linked(address: str) -> str:
    """An address, which Markdown makes a link of by itself, with nothing in it that would end it or begin another."""
    return "".join(f"%{ord(sign):02X}" if sign in "()[]*_~" else sign for sign in address)


def _estimates(described: Described, with_r: bool) -> list[str]:
    """Shares with honest errors."""
    return [
        "## Shares with honest errors",
        "The errors of counted rows leave out how rows were drawn. The Python package privacyfunnel (version "
        f"{described.version}) has commands that hold it, and proves the promise from the protocol alone:",
        *(_with_fill if described.protocol.fill is not None else BY_STEP[described.protocol.step.kind])(
            described, with_r
        ),
    ]


def _with_fill(described: Described, with_r: bool) -> list[str]:
    """Of a table with filled columns: shares of those that are kept."""
    return [
        _code("sh", f"funnel audit {PROTOCOL}\nfunnel estimate {TABLE} --protocol {PROTOCOL}"),
        _code("python", _in_python(described.protocol.attributes[0])),
        f"These are about the kept columns: {_plain(', '.join(described.protocol.attributes))}. Counts of filled "
        "columns have the errors of a model, which no interval here holds.",
    ]


def _audit_alone(described: Described, with_r: bool) -> list[str]:
    """Of a follow-up, readers need the earlier tables, joined by person."""
    return [
        _code("sh", f"funnel audit {PROTOCOL}"),
        "This table follows earlier ones of the same people. Newest rows are counted as they stand where that is said "
        "above. Who also has the earlier tables, with a column that says which rows are one person's, estimates from "
        "all of them: `funnel estimate TABLE --protocol protocol.json --released EARLIER --person COLUMN`.",
    ]


def _by_model(described: Described, with_r: bool) -> list[str]:
    """Of a model: its channel is recomputed, which the file for R does not do."""
    counted = described.fitted
    ask = f"\nfunnel estimate {TABLE} --protocol {PROTOCOL}" if counted else ""
    return [
        _code("sh", f"funnel audit {PROTOCOL}{ask}"),
        *([_code("python", _in_python(described.protocol.attributes[0]))] if counted else []),
    ]


def _listed(described: Described, with_r: bool) -> list[str]:
    """Of a listed channel, in the shell, in Python and in R."""
    first = described.protocol.attributes[0]
    rows = "fitted" if described.fitted else "other"
    ask = f"print(pf_shares({_text(TABLE)}, protocol, of = {_text(first)}, rows = {_text(rows)}))"
    where = "" if with_r else f" `{R_FILE}` comes with the source of privacyfunnel {described.version}."
    return [
        _code("sh", f"funnel audit {PROTOCOL}\nfunnel estimate {TABLE} --protocol {PROTOCOL}"),
        f"They read in `{PACKAGE}` whether these are the rows that the protocol was fitted on. Of a data frame, and in "
        f"R, you say it: {_text(rows)}.",
        _code("python", _in_python(first)),
        f"The same in R, with the packages jsonlite and Matrix.{where}",
        _code("r", f"source({_text(R_FILE)})\nprotocol <- pf_read({_text(PROTOCOL)})\n{ask}"),
    ]


PROVES = "proves the promise in whole numbers"
CHECKS: dict[Kind, str] = {
    "channel": PROVES,
    "by_history": PROVES,
    "by_model": "checks the form of the protocol, and says what of the proof is left to `funnel audit`",
}
"""What readers check without the package, by the step that drew the rows."""
BY_STEP: dict[Kind, Callable[[Described, bool], list[str]]] = {
    "channel": _listed,
    "by_history": _audit_alone,
    "by_model": _by_model,
}
"""How shares are asked for, by the step that drew the rows."""


def _in_python(name: str) -> str:
    """The shares of a column."""
    return (
        "import privacyfunnel as pf\n\n"
        f"found = pf.estimate({_text(TABLE)}, pf.Protocol.load({_text(PROTOCOL)}))\n"
        f"for one in found.table({_text(name)}).estimates:\n"
        "    print(one.values, one.share, one.low, one.high)"
    )


def _columns(fields: tuple[Field, ...]) -> str:
    lines = ["| column | type | values |", "|---|---|---|"]
    for field in fields:
        some = [str(value) for value in field.values[:SHOWN]]
        more = f" and {len(field.values) - SHOWN:,} more" if len(field.values) > SHOWN else ""
        gone = "; can be missing" if field.missing else ""
        shown = f"{', '.join(map(_cell, some))}{more}{gone} ({_cell(field.words)})"
        lines.append(f"| {_cell(field.name)} | {field.type} | {shown} |")
    return "\n".join(lines)


def _pandas(fields: tuple[Field, ...]) -> str:
    kinds = ", ".join(f"{_text(field.name)}: {_text(PANDAS[field.type])}" for field in fields)
    return (
        "import pandas as pd\n\n"
        f"types = {{{kinds}}}\n"
        f'table = pd.read_csv("{TABLE}", dtype=types, keep_default_na=False, na_values=[""])\n'
        "print(table.describe())"
    )


def _in_r(fields: tuple[Field, ...]) -> str:
    kinds = ", ".join(f"{_text(field.name)} = {_text(_r_kind(field))}" for field in fields)
    return (
        f"types <- c({kinds})\n"
        f'table <- read.csv("{TABLE}", colClasses = types, na.strings = "", check.names = FALSE, encoding = "UTF-8")\n'
        "print(summary(table))"
    )


def _r_kind(field: Field) -> str:
    if field.type == "integer":
        small = all(isinstance(value, int) and abs(value) <= MOST_32 for value in field.values)
        exact = all(isinstance(value, int) and abs(value) <= EXACT for value in field.values)
        return "integer" if small else "numeric" if exact else "character"
    return R[field.type]


def _text(text: str) -> str:
    """A text as Python and R both write it."""
    return json.dumps(text, ensure_ascii=False)


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _plain(text: str) -> str:
    r"""A text in which nothing is Markdown.

    >>> print(_plain("a*b <c>"))
    a\*b &lt;c>
    """
    for sign in "\\`*_[]#~":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.replace("<", "&lt;").split())


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
