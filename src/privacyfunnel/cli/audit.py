"""funnel audit: does a protocol keep its promise? What proves it is loaded only to prove it."""

from __future__ import annotations

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.loading import loaded
from privacyfunnel.spec.of_steps import AuditSpec


@asked(model=AuditSpec)
def audit(spec: AuditSpec, json: shared.Json = False) -> None:
    """Check in exact arithmetic that a protocol keeps its promise. Exit code 0: kept, 1: broken.

    A private fit is checked on the noisy counts that its file carries, by anybody. One on exact counts needs the table.

    Example: funnel audit protocol.json --table people.csv
    """
    with loaded():
        from privacyfunnel.cli.auditing import audit_protocol
    audit_protocol(spec, json)
