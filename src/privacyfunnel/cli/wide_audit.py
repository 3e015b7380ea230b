"""funnel audit of a model's file: what it proves by itself, and what it takes on trust."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.wide import published
from privacyfunnel.cli.wide_redrawn import ways_to_release
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.stopping import BROKEN
from privacyfunnel.proof.wide import WideCertificate
from privacyfunnel.proof.wide_file import certify_wide
from privacyfunnel.protocols.everything import not_proven
from privacyfunnel.protocols.wide.file import load_wide
from privacyfunnel.protocols.wide.protocol import WideProtocol

PROVEN = [
    "Proven, by the file alone: the model follows from its noisy tables, these differ from each other as noise of the "
    "stated size makes them, and noise of that size has the ε₀ and δ₀ that are stated."
]
"""Beside the promise about rows, which the verdict is on."""


def audit_wide(path: Path, table: Path | None, attack: bool, json: bool) -> None:
    """Recompute from the file how rows are redrawn, and prove the promise."""
    if table is not None or attack:
        raise InvalidInput("a protocol of a model is audited by itself: leave out --table and --attack")
    with show.working(f"reading {path.name}"):
        protocol = load_wide(path)
    with show.working("recomputing how rows are redrawn, and checking it"):
        certificate = certify_wide(protocol)
    private = protocol.epsilon is not None
    proven, trusted = PROVEN if private and certificate else [], not_proven(private)
    released = next_command.released_beside(path, protocol)
    then = next_command.estimate_from(released, path) if released is not None and certificate else None
    if json:
        told = published(protocol) if certificate else {**published(protocol), "everything_published": None}
        told |= {"proven": proven, "not_proven": trusted, "certificate": asdict(certificate)}
        show.as_json(told | next_command.data(then))
    else:
        screen = show.console()
        screen.print(_verdict(protocol, certificate), style="bold", markup=False)
        screen.print(f"Promise: {protocol.notion.words()} {protocol.whom()}", markup=False)
        screen.print(
            f"Secret: {protocol.secret}, with {protocol.model.n_s} values as the protocol reads it.", markup=False
        )
        for line in (_unchanged(protocol), protocol.everything(), *proven, *trusted) if certificate else ():
            screen.print(line, markup=False)
        next_command.say(then)
    if not certificate:
        raise typer.Exit(BROKEN)


def _verdict(protocol: WideProtocol, certificate: WideCertificate) -> str:
    if not certificate:
        return f"BROKEN: {certificate.reason}."
    what = f"all {protocol.plan.W.size:,} combinations and {ways_to_release(protocol)}"
    return f"KEPT, for {what}, on the published model: {certificate.reason}."


def _unchanged(protocol: WideProtocol) -> str:
    """What is kept by the model: of nearly everything, where the model hardly knows how columns go with the secret."""
    kept = protocol.kept
    return f"By the model, {kept.rows:.1%} of rows and {kept.cells:.1%} of cells stay as they are."
