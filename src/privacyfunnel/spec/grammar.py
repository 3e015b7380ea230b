"""How a value is written as text and read again: this follows from its type, and from nothing else.

number, word, text      as it is
list of names           age,sex
list of lists           one text for each: sex,town
table                   ill=0.1,well=1 and, by two names, town:north=Ashford,Birch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from privacyfunnel.spec.written import divided, names, quoted, unquoted

LARGEST_WHOLE = 2**53
"""Whole numbers below this are floats without a loss."""


class NotRead(Exception):
    """A text that is no value of its type; with words, if that says too little."""


def kinds_of(annotation: Any) -> list[Any]:
    """The types that a value may have, without what is said beside them; None, for what is not said, apart."""
    if get_origin(annotation) is Annotated:
        return kinds_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for one in get_args(annotation) for kind in kinds_of(one)]
    return [] if annotation is NoneType else [annotation]


def is_flag(annotation: Any) -> bool:
    """Whether it is said by its name alone."""
    return kinds_of(annotation) == [bool]


def read(annotation: Any, texts: Sequence[str], joined: str = ",") -> Any:
    """The value that some texts say; `joined` are the signs between names in a table.

    Each text adds to a list or a table. What may be something else, too, is what the last text says.
    """
    kinds = kinds_of(annotation)
    tables = [kind for kind in kinds if get_origin(kind) is dict]
    texts = texts if len(kinds) == 1 else texts[-1:]
    if tables and (len(kinds) == 1 or _has(texts[0], "=")):
        return _table(tables[0], texts, joined)
    if len(kinds) == 1 and _is_lists(kinds[0]):
        return tuple(tuple(names(text)) for text in texts)
    if len(kinds) == 1 and get_origin(kinds[0]) is tuple:
        return tuple(name for text in texts for name in names(text))
    return _one(kinds, texts[-1])


def written(annotation: Any, value: Any, joined: str = ",") -> list[str]:
    """The texts that say a value; `read` makes the value of them again."""
    if isinstance(value, Mapping):
        entries = _entries_of(kinds_of(annotation), value, joined[0])
        alone = any(len(divided(entry, ",")) > 1 for entry in entries)
        return entries if alone else [",".join(entries)]
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return [",".join(map(quoted, each)) for each in value]
    words = {word for kind in kinds_of(annotation) for word in get_args(kind) if get_origin(kind) is Literal}
    if isinstance(value, tuple) and words & {*value}:
        return [",".join(f'"{name}"' if name in words else quoted(name) for name in value)]
    return [_plain(value, ",")]


def number_text(value: float) -> str:
    """A number without needless digits."""
    whole = abs(value) < LARGEST_WHOLE and value == int(value)
    return str(int(value)) if whole else repr(value)


def _entries_of(kinds: list[Any], value: Mapping[str, Any], joined: str) -> list[str]:
    """What a table says, one text for each entry."""
    texts = any(get_origin(kind) is dict and _inner(kind) == [str] for kind in kinds)
    entries = []
    for key, one in value.items():
        if isinstance(one, Mapping):
            entries += [f"{quoted(key)}:{quoted(label)}={_plain(inner, ',')}" for label, inner in one.items()]
        else:
            entries.append(f"{quoted(key)}={quoted(one) if texts else _plain(one, joined)}")
    return entries


def _plain(value: Any, joined: str) -> str:
    """A value that is no table, in one text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, tuple):
        return joined.join(_name(one) if isinstance(one, str) else number_text(one) for one in value)
    return str(value)


def _name(name: str) -> str:
    """A name in a list, which is no number."""
    return f'"{name}"' if name.isdigit() else quoted(name)


def _table(table: Any, texts: Sequence[str], joined: str) -> dict[str, Any]:
    inner, found = _inner(table), dict[str, Any]()
    nested = get_origin(inner[0]) is dict
    for entry in [entry for text in texts for entry in _entries(text, nested)]:
        parts = divided(entry, "=")
        if nested:
            column, *rest = divided(parts[0], ":")
            label, value = unquoted(":".join(rest)), "=".join(parts[1:])
            into, kinds, signs = found.setdefault(unquoted(column), {}), _inner(inner[0]), ","
            named = bool(unquoted(column) and label)
        else:  # at the last sign, for names such as <=50K
            label, value = unquoted("=".join(parts[:-1])), parts[-1]
            into, kinds, signs, named = found, inner, joined, bool("".join(parts[:-1]).strip())
        if not named or not value.strip():
            raise NotRead
        if label in into:
            raise NotRead(f"is given twice for {label!r}; once will do")
        into[label] = unquoted(value) if kinds == [str] else _one(kinds, value.strip(), signs)
    return found


def _entries(text: str, nested: bool) -> list[str]:
    """The entries of a table in one text: a part that says no name of its own goes on with the one before it."""
    entries: list[str] = []
    for part in divided(text, ","):
        name, *value = divided(part, "=")
        if entries and not (value and (not nested or _has(name, ":"))):
            entries[-1] += f",{part}"
        elif part.strip():
            entries.append(part)
    return entries


def _one(kinds: Sequence[Any], text: str, signs: str = ",") -> Any:
    """The value of one text, by the first type that takes it; those that take few texts come first."""
    for kind in sorted(kinds, key=_takes):
        try:
            return _item(kind, text, signs)
        except NotRead:
            continue
    raise NotRead


def _takes(kind: Any) -> int:
    """Types that take more texts have larger numbers."""
    order = (get_origin(kind) is Literal, kind is bool, kind is int, kind is float, _is_numbers(kind))
    return order.index(True) if any(order) else len(order)


def _item(kind: Any, text: str, signs: str) -> Any:
    """The value of one text, as one type."""
    bare = text.strip()
    words = get_args(kind) if get_origin(kind) is Literal else ("true", "false") if kind is bool else None
    if words is not None:
        if bare not in words:
            raise NotRead
        return bare == "true" if kind is bool else bare
    if kind in (int, float):
        return _number(bare, kind)
    if _is_numbers(kind):
        if not _has(text, ","):
            raise NotRead
        return tuple(_number(part.strip(), float) for part in divided(text, ","))
    if get_origin(kind) is tuple:
        return tuple(unquoted(part) for part in divided(text, signs) if part.strip())
    if kind is not str:
        raise NotRead
    return text


def _number(text: str, kind: Any) -> Any:
    if kind is int and not (text.isascii() and text.removeprefix("-").isdigit()):
        raise NotRead
    try:
        return kind(text)
    except ValueError:
        raise NotRead from None


def _has(text: str, sign: str) -> bool:
    return len(divided(text, sign)) > 1


def _inner(table: Any) -> list[Any]:
    """The types of what a table holds."""
    return kinds_of(get_args(table)[1])


def _is_numbers(kind: Any) -> bool:
    return get_origin(kind) is tuple and kinds_of(get_args(kind)[0]) == [float]


def _is_lists(kind: Any) -> bool:
    return get_origin(kind) is tuple and any(get_origin(inner) is tuple for inner in kinds_of(get_args(kind)[0]))
