"""Mistakes in a domain file, which people edit: each is put into one line that says where it is and what next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, get_args

from pydantic import ValidationError

from privacyfunnel.distribution.column import LONGEST_NAME
from privacyfunnel.distribution.raw import Kind, Written
from privacyfunnel.errors import InvalidDomain
from privacyfunnel.protocols.json_file import SHOWN
from privacyfunnel.tables.cutting import MOST_DECIMALS

FAMILY_LETTERS = len("privacyfunnel-domain/")
"""Of a schema: what all of its versions have in common."""
MUST_BE = {
    "about": "a list of texts",
    "columns": "a list of columns, at least one",
    "name": f"a text of 1 to {LONGEST_NAME:,} letters, in quotes",
    "kind": f"one of {', '.join(get_args(Kind))}, in quotes",
    "values": 'a list of texts, numbers, or true and false; if missing can occur, say "missing": true',
    "edges": "a list of increasing numbers, where the first and the last may be null",
    "decimals": f"a whole number from 0 to {MOST_DECIMALS}",
    "outside": '"refuse" or "other"',
    "missing": "true or false, without quotes",
    "missing_texts": "a list of texts",
    "written": f"one of {', '.join(filter(None, get_args(Written)))}, in quotes",
    "comment": "one text",
}
"""What can stand in each field."""


class _Twice(ValueError):
    """A field that stands twice in one object: JSON would silently take the last."""


def parsed(text: str, name: str, schema: str) -> dict[str, Any]:
    """The JSON object in a text, once it is known to be of this schema."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as broken:
        raise InvalidDomain(
            f"{name} is not JSON: line {broken.lineno}, letter {broken.colno}; look there, or right before, for a "
            "comma, quote or bracket too many or too few"
        ) from None
    except _Twice as twice:
        raise InvalidDomain(f"{name}: {twice}") from None
    except (ValueError, RecursionError):
        raise InvalidDomain(
            f"{name} holds a number that is none, or is nested too deeply; see the template of funnel domain"
        ) from None
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(found, str) or found[:FAMILY_LETTERS] != schema[:FAMILY_LETTERS]:
        raise InvalidDomain(f'{name} is JSON, but no domain of privacyfunnel: that begins with "schema": "{schema}"')
    if found != schema:
        raise InvalidDomain(f"{name} has the schema {found[:SHOWN]!r}; this version reads {schema!r}")
    return dict(content)


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError("not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        first = next(key for key in keys if keys.count(key) > 1)
        where = f"column {found['name'][:SHOWN]!r}: " if isinstance(found.get("name"), str) else ""
        raise _Twice(f"{where}the field {first[:SHOWN]!r} stands there twice; delete one of them")
    return found


def words_for(invalid: ValidationError, content: dict[str, Any], fields: Mapping[str, Sequence[str]]) -> str:
    """The first mistake that was found, and where; `fields` are those of the file ("") and of one of its columns."""
    fault = invalid.errors(include_url=False, include_input=False)[0]
    where, place = _place(fault["loc"], content)
    field = str(place[0])[:SHOWN] if place else ""
    if fault["type"] == "value_error":
        return f"{where}{fault['ctx']['error']}"
    if fault["type"] == "extra_forbidden":
        return f"{where}there is no field {field!r}; there are {', '.join(fields['columns' if where else ''])}"
    if fault["type"] == "missing":
        return f"{where}the field {field!r} is missing; it must be {MUST_BE[field]}"
    if fault["type"] == "too_long" and len(place) == 1:
        return f'{where}"{field}" has more than {fault["ctx"]["max_length"]:,} entries; declare fewer'
    if field in MUST_BE:
        entry = f"entry {place[1] + 1} does not fit: " if len(place) > 1 and isinstance(place[1], int) else ""
        return f'{where}{entry}"{field}" must be {MUST_BE[field]}'
    if fault["type"] == "json_invalid":  # Python's reader is more lenient: it takes half a character for one
        return "a text in it is no text; look for \\u"
    return f'{where}it must be an object such as {{"name": "sex", "kind": "text", "values": ["f", "m"]}}'


def _place(loc: tuple[int | str, ...], content: dict[str, Any]) -> tuple[str, tuple[int | str, ...]]:
    """The column in which a mistake is, in words, and the way on from there."""
    if len(loc) < 2 or loc[0] != "columns" or not isinstance(loc[1], int):
        return "", loc
    column = content["columns"][loc[1]]
    name = column.get("name") if isinstance(column, dict) else None
    return f"column {repr(name[:SHOWN]) if isinstance(name, str) and name else f'number {loc[1] + 1}'}: ", loc[2:]
