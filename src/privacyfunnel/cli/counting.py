"""A table, counted as a Spec asks for it: here or on a cluster, by a domain if there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidInput, TooManyReadAsOthers
from privacyfunnel.spec.counting import noise_of, threshold_of, wishes_of
from privacyfunnel.spec.of_table import REST
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted, count_table
from privacyfunnel.tables.domain import opened
from privacyfunnel.tables.never import named_last
from privacyfunnel.tables.persons import refuse_several_rows
from privacyfunnel.tables.sources import Source, open_source

NOT_RUINED = (
    "release fewer columns, wider ranges (bins) or fewer values (top), let --columns auto --set coarsen=auto choose, "
    "or --set insist"
)
"""What to do where too many people would be read as others."""


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
