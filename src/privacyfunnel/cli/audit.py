"""funnel audit: does a protocol keep its promise on a table?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.attacks.findings import findings
from privacyfunnel.cli import options, show
from privacyfunnel.cli.attack import attack_report, show_attack
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.stopping import BROKEN
from privacyfunnel.proof.certificate import Certificate
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.auditing import audit_table


def audit(
    protocol: Annotated[Path, typer.Argument(help="The protocol, as written by funnel fit.")],
    table: Annotated[
        Path | None, typer.Option(help="The original table, whose people the promise was made to.  [required]")
    ] = None,
    attack: Annotated[
        bool,
        typer.Option(
            "--attack", help="Also attack it: exactly, with models that learn, released twice, and the file by itself."
        ),
    ] = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    json: options.Json = False,
) -> None:
    """Check in exact arithmetic that a protocol keeps its promise on a table. Exit code 0: kept, 1: broken.

    Example: funnel audit protocol.json --table people.csv
    """
    loaded = Protocol.load(protocol)
    if table is None:
        raise InvalidInput(
            "only the original table shows whether a promise is kept: pass it with --table. What was promised, "
            "without it: funnel report PROTOCOL --public -o statement.html"
        )
    joint, certificate = audit_table(loaded, table, delimiter=delimiter, encoding=encoding)
    found = findings(loaded, joint, certificate)
    attacked = attack_report(loaded, joint) if attack else None
    if json:
        more = {"attack": attacked.as_dict()} if attacked is not None else {}
        secret = {"secret": loaded.secret, "secret_values": joint.n_s}
        show.as_json({**secret, **found.as_dict(), "certificate": _data(certificate), **more})
    else:
        screen = show.console()
        screen.print(f"Promise: {found.promise}", markup=False)
        screen.print(_secret_line(loaded.secret, joint.n_s), markup=False)
        screen.print(f"{'KEPT' if certificate.holds else 'BROKEN'}, in exact arithmetic: {certificate.reason}.")
        screen.print(_draws_line(certificate))
        if certificate.worst is not None:
            lift = certificate.worst.lift
            about = f" ≈ {float(lift):.6g}" if lift is not None else ""
            screen.print(f"Tightest at output {certificate.worst.output}, where the exact factor is {lift}{about}.")
        screen.print(show.findings_table(found))
        if attacked is not None:
            show_attack(screen, attacked)
    if not certificate:
        raise typer.Exit(BROKEN)


def _secret_line(name: str, values: int) -> str:
    """Whose promise it is: the file says how the secret is read, and could merge its values until none is left."""
    if values == 1:
        return f"Secret: {name}, with a single value as the protocol reads it, so there is nothing to give away."
    return f"Secret: {name}, with {values:,} values as the protocol reads it."


def _draws_line(certificate: Certificate) -> str:
    """What may be done with rows that hold values never seen."""
    if certificate.draws is None:
        return "Values never seen when fitting: refused, since no draw is known to keep the promise for them."
    kept = "keep the promise, too, whoever they belong to" if certificate.draws else "could BREAK the promise"
    return f"Values never seen when fitting: rows drawn for them (--unseen draw) {kept}."


def _data(certificate: Certificate) -> dict[str, object]:
    """The certificate for machines; which value of the secret is worst is not told."""
    worst = certificate.worst
    return {
        "holds": certificate.holds,
        "level": certificate.level,
        "reason": certificate.reason,
        "draws": certificate.draws,
        "worst_output": worst.output if worst else None,
        "worst_lift": str(worst.lift) if worst else None,
    }
