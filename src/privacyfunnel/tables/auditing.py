"""Auditing: the people in a table as a protocol reads them."""

from __future__ import annotations

from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.counting import count
from privacyfunnel.tables.fitting import fit_reading
from privacyfunnel.tables.sources import open_source


def audited_joint(
    protocol: Protocol, table: Any, *, delimiter: str | None = None, encoding: str = "utf-8", where: str | None = None
) -> Joint:
    """The distribution of a table, or of its rows `where` a condition is met, read as the protocol says."""
    if not protocol.secret_readings:
        raise InvalidProtocol("this protocol was not fitted on a table, so it does not say how to read the secret")
    secrets = [reading.name for reading in protocol.secret_readings]
    source = open_source(table, delimiter=delimiter, encoding=encoding, where=where, secrets=secrets)
    source.require(secrets)
    source.require(protocol.attributes)
    columns = [fit_reading(source, reading) for reading in protocol.secret_readings]
    return count(source, columns, protocol.columns)
