"""How to do the same again: a protocol as command lines and as lines of Python."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.of_protocol import (
    DOMAIN,
    counts_of,
    groups_of,
    is_declared,
    not_told,
    readers_of,
    reading_of,
    secrets_of,
    spec_of,
    weights_of,
)
from privacyfunnel.spec.spec import Spec

LONG_LINE = 78
"""Letters: two fewer than the 80 of an old terminal, for its prompt."""


@dataclass(frozen=True)
class Steps:
    """What to type, for a table and a protocol of these names."""

    fit: str
    sanitise: str
    audit: str
    python: str
    to_add: str
    """What the file of the protocol does not tell, in two sentences."""


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
        _to_add(protocol),
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


def _fit(protocol: Protocol, table: str, file: str) -> str:
    spec = spec_of(protocol, table)
    if spec is None:
        return "# this cannot be typed: it is made in Python, as below"
    return shlex.join(["funnel", "fit", *as_flags.words(spec), "-o", file])


def _to_add(protocol: Protocol) -> str:
    options = ", ".join(as_flags.flag(Spec, key) for key in not_told(protocol))
    return f"The protocol file does not record these options: {options}. If you used one of them, add it."


def _expression(notion: Notion) -> str:
    """A promise as Python."""
    if isinstance(notion, Robust):
        within = f", within={notion.within!r}" if notion.within else ""
        chains = f", chains={[list(chain) for chain in notion.chains]!r}" if notion.chains else ""
        return f"pf.robust({_expression(notion.promise)}, {notion.confidence!r}{within}{chains})"
    return notion.expression()


def _call(protocol: Protocol) -> str:
    given = ["joint", _expression(protocol.notion)]
    if protocol.objective != "information":
        given.append(f"objective={protocol.objective!r}")
    if protocol.step.exact:
        given.append(f"exact={list(protocol.step.exact)!r}")
    if weights_of(protocol):
        given.append(f"weights={weights_of(protocol)!r}")
    given += [f"{name}={value!r}" for name, value in readers_of(protocol).items()]
    return f"pf.optimise({', '.join(given)})"


def _python(protocol: Protocol, table: str, file: str, released: str) -> str:
    if not protocol.step.listed:
        return "# a model or a follow-up is made on the command line, as above\n"
    secrets, counts = secrets_of(protocol), counts_of(protocol)
    secret: object = secrets[0] if len(secrets) == 1 else secrets
    asked: dict[str, Any] = {"secret": secret, "attributes": list(protocol.attributes)}
    asked |= {"domain": DOMAIN} if is_declared(protocol) else reading_of(protocol)
    asked |= {"groups": groups_of(protocol)}
    asked |= {name: counts.get(name) for name in ("private", "delta")} | {"at_least": protocol.at_least}
    asked |= {"insist": counts["insist"]}
    given = [f"    {table!r},", *(f"    {name}={value!r}," for name, value in asked.items() if value)]
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
