"""TOML files that people edit: each mistake is one line that names the key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from privacyfunnel.errors import InvalidInput

MOST_BYTES = 2**20
"""Far above what people write into such a file."""


def hyphened(name: str) -> str:
    """The name of a field as it is typed: at_least is at-least."""
    return name.replace("_", "-")


STRICT = ConfigDict(
    frozen=True,
    extra="forbid",
    strict=True,
    allow_inf_nan=False,
    alias_generator=hyphened,
    populate_by_name=True,
)
"""Of every file: no key that is not known, and no text where a number should be."""
Model = TypeVar("Model", bound=BaseModel)


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidInput(f"{path} is larger than {MOST_BYTES // 2**20} MiB, so nobody wrote it")
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {path}") from None
    except OSError as trouble:
        raise InvalidInput(f"{path} cannot be read: {trouble.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not text in UTF-8, so it is no TOML") from None
    except (tomllib.TOMLDecodeError, RecursionError) as broken:
        raise InvalidInput(f"{path} is not TOML: {broken}") from None


def checked(model: type[Model], content: dict[str, Any], name: str) -> Model:
    """The content as a model, or one line that names the first key that is wrong."""
    try:
        return model.model_validate(content)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        raise InvalidInput(f"{name}: {_mistake(first, _known(model, first['loc']))}") from None


def _mistake(found: Any, known: list[str]) -> str:
    """What is wrong with which key."""
    where = ".".join(str(part) for part in found["loc"] if not _is_kind(part))
    if found["type"] == "missing":
        return f"{where} is missing"
    if found["type"] == "extra_forbidden":
        return f"{where} is no key that is known here; these are: {', '.join(known)}"
    words = str(found["msg"]).removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")
    if not where:
        return words
    return f"{where} {words[0].lower()}{words[1:]}" if words.startswith(("S", "s")) else f"{where}: {words}"


def _is_kind(part: Any) -> bool:
    """Whether a step into a file is what pydantic calls one of several kinds of value: it stands in no file."""
    return isinstance(part, str) and (part in KINDS or "[" in part)


KINDS = {"str", "int", "float", "bool"}
"""What pydantic calls the kinds of value that a key may have."""


def _known(model: type[BaseModel], where: tuple[int | str, ...]) -> list[str]:
    """The keys that are known where a mistake is."""
    for step in where[:-1]:
        for name, field in model.model_fields.items():
            inner = [
                kind for kind in _kinds(field.annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)
            ]
            if step in (name, field.alias) and inner:
                model = inner[0]
    return [field.alias or name for name, field in model.model_fields.items()]


def _kinds(annotation: Any) -> list[Any]:
    """A type and all that it is made of."""
    parts = getattr(annotation, "__args__", ())
    return [annotation] if not parts else [kind for part in parts for kind in _kinds(part)]
