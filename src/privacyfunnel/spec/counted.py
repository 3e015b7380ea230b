"""A table or a frame, counted as a Spec asks for it: here or on a cluster, by a domain if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, TooManyReadAsOthers
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec import as_keywords
from privacyfunnel.spec.counting import noise_of, threshold_of, wishes_of
from privacyfunnel.spec.form import without_empty
from privacyfunnel.spec.of_protocol import DOMAIN
from privacyfunnel.spec.of_table import REST
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.auditing import audited_joint
from privacyfunnel.tables.counting import Counted, count_table
from privacyfunnel.tables.domain import Domain, opened
from privacyfunnel.tables.fitting import FittedColumn
from privacyfunnel.tables.frequency_threshold import of_noisy
from privacyfunnel.tables.never import named_last
from privacyfunnel.tables.persons import refuse_several_rows
from privacyfunnel.tables.sources import Source, open_source

NOT_RUINED = (
    "release fewer columns, wider ranges (bins) or fewer values (top), let --columns auto --set coarsen=auto choose, "
    "or --set insist"
)
"""What to do where too many people would be read as others."""
CALLED = {"columns": "attributes", "group": "groups"}
"""Keys that `Joint.from_table` calls by another name."""


def counted(
    spec: Spec,
    table: Path | Source,
    columns: Sequence[str] | None = None,
    as_before: Mapping[str, Column] | None = None,
) -> Counted:
    """The exact counts; `columns` are released, where they are not those that the Spec names."""
    names = spec.named if columns is None else list(columns)
    how: dict[str, Any] = {
        "wishes": wishes_of(spec),
        "allow_secret_attribute": bool(spec.allow_secret_attribute),
        "domain": opened(None if spec.domain is None else Path(spec.domain)),
        "with_identifiers": False,
        "leave_out": (*(spec.leave_out or ()), *filled_by_name(spec)) if names is None else (),
    }
    secrets = spec.secret_columns
    if spec.cluster is None or isinstance(table, Source):
        source = table if isinstance(table, Source) else open_source(table, **spec.layout, secrets=secrets)
        if spec.unit is None and spec.after is None:
            left_out = {*secrets, *(spec.leave_out or ())}
            refuse_several_rows(source, names or [one for one in source.columns if one not in left_out], spec.person)
        return replace(count_table(source, secrets, names, **how, as_before=as_before), unit=spec.unit)
    from privacyfunnel.tables.spark.files import open_spark, spark_session
    from privacyfunnel.tables.spark.source import count_spark

    with spark_session(spec.cluster) as session:
        frame = open_spark(session, table, spec.delimiter, spec.layout["encoding"])
        return count_spark(frame, secrets, names, **how)


def as_fitted(spec: Spec, protocol: Protocol, table: Path) -> Counted:
    """The counts that a protocol was fitted on: its own, if it is private; else those of the table."""
    fitted = tuple(FittedColumn(column, "as in the protocol") for column in protocol.columns)
    if protocol.noise is not None:
        joint = published_joint(protocol)
        return Counted(joint, (), fitted, (), threshold=of_noisy(joint))
    joint = audited_joint(protocol, table, **spec.layout)
    return Counted(joint, (), fitted, ()).safely(None, at_least=protocol.at_least, insist=True)


def filled_by_name(spec: Spec) -> tuple[str, ...]:
    """The columns that are to be filled, so that they are not kept: by their names, or as the last ones of never."""
    named = tuple(name for name in spec.fill or () if name != REST)
    if spec.never is None or spec.named is not None:
        return named
    return tuple(dict.fromkeys([*named, *named_last(spec.never)]))


def safely(spec: Spec, exact: Counted, spent: float) -> Counted:
    """The counts that everything else is computed from, when choosing the columns has spent some of ε₀.

    Refused where they say that a table would be ruined.
    """
    noise = noise_of(spec)
    left = None if noise is None else noise - spent
    threshold: dict[str, Any] = {"at_least": threshold_of(spec, exact.joint.combinations), "insist": bool(spec.insist)}
    try:
        return exact.safely(left, delta=spec.delta or None, choosing=spent, **threshold)
    except TooManyReadAsOthers as trouble:
        raise InvalidInput(f"{trouble.what}: {NOT_RUINED}", steward_only=trouble.steward_only) from None


def joint_of(table: Any, count: Callable[..., Counted] = count_table, **keywords: Any) -> Joint:
    """The joint of a table or a frame: keywords of Python say a Spec, and what cannot be is refused as there.

    `count` counts it, here or on a cluster. Counts are exact unless `private` is said.
    """
    domain = keywords["domain"]
    said = {name: _listed(name, value) for name, value in keywords.items()}
    said = without_empty(said) | {name: said[name] for name in MEANT if said.get(name) is not None}
    said |= {"domain": DOMAIN if isinstance(domain, Domain) else str(domain)} if domain is not None else {}
    spec = as_keywords.said(Spec, CALLED, **said).spec()
    layout = {name: value for name, value in spec.layout.items() if name in said}
    source = open_source(table, **layout, secrets=spec.secret_columns) if layout else table
    counted = count(source, spec.secret_columns, spec.named, wishes=wishes_of(spec), domain=domain)
    least, insist = spec.at_least or 0, bool(spec.insist)
    return counted.safely(spec.private, delta=spec.delta, at_least=least, insist=insist).joint


def _listed(name: str, value: Any) -> Any:
    """A name where several may be said; the secret is all of its columns together."""
    if name in LISTED and isinstance(value, str):
        value = [value]
    if name == "secret":
        return [list(value)]
    return (value or None) if name == "at_least" else value


LISTED = ("secret", "columns", "missing")
"""Keys that take one name, too."""
MEANT = ("columns", "where", "delimiter", "encoding")
"""Keys that say nothing only by None: an empty list is no list of all columns."""
