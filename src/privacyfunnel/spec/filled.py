"""What is filled beside the kept columns, as a Spec asks for it."""

from __future__ import annotations

from pathlib import Path

from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.counted import filled_by_name
from privacyfunnel.spec.counting import noise_of_fill
from privacyfunnel.spec.of_table import REST
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.domain import opened
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.sources import open_source


def with_filled(spec: Spec, protocol: Protocol, table: Path) -> Protocol:
    """The protocol with the columns that the Spec fills; it is decided by what is public, and by noisy counts."""
    if spec.fill is None:
        return protocol
    source = open_source(table, **spec.layout, secrets=spec.secret_columns)
    domain = opened(None if spec.domain is None else Path(spec.domain))
    known = source.columns if domain is None else domain.names
    named = filled_by_name(spec)
    source.require(named)
    gone = {*protocol.attributes, *spec.secret_columns, *(spec.leave_out or ())}
    others = [name for name in source.columns if name in known and name not in gone] if REST in spec.fill else []
    names = [name for name in source.columns if name in {*named, *others}]
    return with_fill(
        protocol,
        source,
        names,
        noise_of_fill(spec),
        domain=domain,
        rest=REST in spec.fill,
        ranges=bool(spec.ranges),
        missing=spec.missing or (),
        whole=tuple(spec.top or ()),
        never=spec.never,
    )
