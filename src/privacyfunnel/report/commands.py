"""How to do the same again: a protocol as command lines and as lines of Python."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from privacyfunnel.advice.levels import argument
from privacyfunnel.distribution.column import OTHER, Column, short
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.promises.several import Promises
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Spent
from privacyfunnel.tables.frequency_threshold import of_noisy, usual_threshold

LONG_LINE = 78
"""Letters: two fewer than the 80 of an old terminal, for its prompt."""
DOMAIN = "domain.json"
"""What the file of a domain is called in commands, since a protocol does not name it."""
DATES = ("year", "month", "day")


@dataclass(frozen=True)
class Steps:
    """What to type, for a table and a protocol of these names."""

    fit: str
    sanitise: str
    audit: str
    python: str


def steps(protocol: Protocol, table: str, file: str = "protocol.json", released: str = "released.csv") -> Steps:
    """The commands and the lines of Python that make this protocol again from its table.

    A private fit draws its noise afresh, so that they make one like it; and everybody audits it without the table.
    """
    audit = ["funnel", "audit", file]
    return Steps(
        _fit(protocol, table, file),
        shlex.join(["funnel", "sanitise", table, "--protocol", file, "-o", released]),
        shlex.join(audit if protocol.carries_counts else [*audit, "--table", table]),
        _python(protocol, table, file, released),
    )


def in_lines(command: str) -> str:
    """A long command with its options on lines of their own, as a shell reads it."""
    if len(command) <= LONG_LINE:
        return command
    lines: list[str] = []
    for word in shlex.split(command):
        if word.startswith("-") and lines:
            lines.append("  " + shlex.quote(word))
        elif lines:
            lines[-1] += " " + shlex.quote(word)
        else:
            lines.append(shlex.quote(word))
    return " \\\n".join(lines)


def _secrets(protocol: Protocol) -> list[str]:
    return [reading.name for reading in protocol.secret_readings] or [protocol.secret]


def _missing(protocol: Protocol) -> list[str]:
    """What means "missing" in every column was asked for; the rest is found again."""
    readings = [*protocol.secret_readings, *protocol.columns]
    return [text for text in readings[0].missing if all(text in reading.missing for reading in readings)]


def _wishes(protocol: Protocol) -> dict[str, dict[str, Any]]:
    """How the columns were read, as `bins`, `top` and `dates` ask for it."""
    asked: dict[str, dict[str, Any]] = {"bins": {}, "top": {}, "dates": {}}
    for column in [*protocol.secret_readings, *protocol.columns]:
        if column.kind == "bins":
            asked["bins"][column.name] = list(column.edges)
        elif column.kind in ("integer", "number"):
            asked["bins"][column.name] = "each"
        elif column.kind in DATES:
            asked["dates"][column.name] = column.kind
        elif isinstance(column, Column) and column.other:
            asked["top"][column.name] = sum(label not in (None, OTHER) for label in column.labels)
    return asked


def _groups(protocol: Protocol) -> dict[str, dict[str, list[str]]]:
    """Texts that are read as one value, by column and name."""
    return {
        column.name: {group.label: list(group.values) for group in column.groups}
        for column in protocol.columns
        if column.groups
    }


def _fit(protocol: Protocol, table: str, file: str) -> str:
    plain = protocol.notion.promise if isinstance(protocol.notion, Robust) else protocol.notion
    said = plain.asked()
    if said is None:
        return "# this promise has no options of its own: it is made in Python, as below"
    secrets = _secrets(protocol) if isinstance(plain, Promises) else [",".join(_secrets(protocol))]
    words = ["funnel", "fit", table, *(word for secret in secrets for word in ("--secret", secret))]
    words += ["--attributes", ",".join(protocol.attributes)]
    words += ["--exact", ",".join(protocol.step.exact)] if protocol.step.exact else []
    for name, value in (_said(protocol.notion, said) if said else options_of(protocol.notion)).items():
        if value is not None:
            text = ",".join(value) if isinstance(value, tuple | list) else _plain(value)
            words += [f"--{name}", text] if text else [f"--{name}"]
    for chain in protocol.notion.chains if isinstance(protocol.notion, Robust) else ():
        words += ["--chain", ",".join(chain)]
    words += _counts(protocol)
    words += ["--objective", protocol.objective] if protocol.step.kind != "by_model" else []
    for name, weight in _weights(protocol).items():
        words += ["--weight", f"{name}={_plain(weight)}"]
    for column, groups in _groups(protocol).items():
        for label, texts in groups.items():
            words += ["--group", f"{argument(column)}:{argument(label)}={','.join(map(argument, texts))}"]
    if _declared(protocol):
        return shlex.join([*words, "--domain", DOMAIN, "-o", file])
    for option, wishes in _wishes(protocol).items():
        for column, wish in wishes.items():
            text = ",".join(map(short, wish)) if isinstance(wish, list) else str(wish)
            words += [f"--{option}", f"{column}={text}"]
    for text in _missing(protocol):
        words += ["--missing", text]
    return shlex.join([*words, "-o", file])


def _declared(protocol: Protocol) -> bool:
    """Whether a domain says how columns are read, so that nothing else may."""
    return protocol.spent is not None and protocol.spent.declared


def _counts(protocol: Protocol) -> list[str]:
    """What it was computed from, as options of funnel fit."""
    noise, least = protocol.noise, protocol.at_least
    if protocol.step.kind == "by_model":
        return _of_model(protocol.spent)
    words = ["--exact-fit"] if noise is None else ["--private", _plain(noise.epsilon)]
    if noise is not None and noise.delta:
        words += ["--delta", f"{noise.delta:g}"]
    usual = usual_threshold(type(protocol.notion), protocol.notion.confidence)
    if noise is not None and usual and not least:
        least = 1  # or there would be the usual one
    words += ["--at-least", str(least)] if least else []
    return [*words, "--insist"] if _insisted(protocol) else words


def _of_model(spent: Spent | None) -> list[str]:
    """The same of a model."""
    if spent is None:
        return ["--model", "--exact-fit"]
    return ["--model", "--private", _plain(spent.epsilon), "--delta", f"{spent.delta:g}"]


def _insisted(protocol: Protocol) -> bool:
    """Whether so many people are read as others, by the published counts, that somebody insisted."""
    found = of_noisy(published_joint(protocol)) if protocol.noise is not None else None
    return found is not None and found.too_many


def _counts_in_python(protocol: Protocol) -> dict[str, Any]:
    """The same for Joint.from_table."""
    noise = protocol.noise
    given: dict[str, Any] = {"private": noise.epsilon} if noise is not None else {}
    if noise is not None and noise.delta:
        given["delta"] = noise.delta
    given |= {"at_least": protocol.at_least} if protocol.at_least else {}
    return given | ({"insist": True} if _insisted(protocol) else {})


def _said(notion: Notion, asked: dict[str, str]) -> dict[str, Any]:
    """The options for a promise that says itself what they are, with those of a robust one."""
    robust = {"confidence": notion.confidence, "within": notion.within} if isinstance(notion, Robust) else {}
    return {**asked, **{name: value for name, value in robust.items() if value is not None}}


def options_of(notion: Notion) -> dict[str, Any]:
    """A promise as the options of funnel fit; a robust one is the promise it makes robust, and a confidence."""
    content = notion.as_dict()
    inner = content.pop("promise", None)
    content.pop("chosen", None)  # a consequence of how columns are read, not an option
    content.pop("chains", None)
    return {**inner, **{name: value for name, value in content.items() if name != "notion"}} if inner else content


def _expression(notion: Notion) -> str:
    """A promise as Python."""
    if isinstance(notion, Robust):
        within = f", within={notion.within!r}" if notion.within else ""
        chains = f", chains={[list(chain) for chain in notion.chains]!r}" if notion.chains else ""
        return f"pf.robust({_expression(notion.promise)}, {notion.confidence!r}{within}{chains})"
    return notion.expression()


def _plain(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def _weights(protocol: Protocol) -> dict[str, float]:
    """How much the cells of a column count, where it was said."""
    return dict(protocol.likeness.weights) if protocol.likeness is not None else {}


def _call(protocol: Protocol) -> str:
    given = ["joint", _expression(protocol.notion)]
    if protocol.objective != "information":
        given.append(f"objective={protocol.objective!r}")
    if protocol.step.exact:
        given.append(f"exact={list(protocol.step.exact)!r}")
    if _weights(protocol):
        given.append(f"weights={_weights(protocol)!r}")
    return f"pf.optimise({', '.join(given)})"


def _python(protocol: Protocol, table: str, file: str, released: str) -> str:
    secrets = _secrets(protocol)
    secret: object = secrets[0] if len(secrets) == 1 else secrets
    given = [f"    {table!r},", f"    secret={secret!r},", f"    attributes={list(protocol.attributes)!r},"]
    if _declared(protocol):
        given.append(f"    domain={DOMAIN!r},")
    else:
        given += [f"    {name}={asked!r}," for name, asked in _wishes(protocol).items() if asked]
    if groups := _groups(protocol):
        given.append(f"    groups={groups!r},")
    if _missing(protocol) and not _declared(protocol):
        given.append(f"    missing={_missing(protocol)!r},")
    given += [f"    {name}={value!r}," for name, value in _counts_in_python(protocol).items()]
    return "\n".join(
        [
            "import privacyfunnel as pf",
            "",
            "joint = pf.Joint.from_table(",
            *given,
            ")",
            f"protocol = {_call(protocol)}",
            "print(protocol, pf.certify(protocol, joint).holds)",
            f"protocol.save({file!r})",
            f"protocol.sanitise({table!r}, {released!r})",
            "",
        ]
    )
