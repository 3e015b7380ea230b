"""What funnel audit does: prove a promise, on the counts that a protocol carries or on a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.console import Console

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.attack import AttackReport, attack_report, show_attack
from privacyfunnel.cli.audited import Audited, audited_alone, audited_on
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.stopping import BROKEN
from privacyfunnel.proof.not_proven import not_proven
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.everything import EXACT_COUNTS, everything
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec import following
from privacyfunnel.spec.of_steps import AuditSpec
from privacyfunnel.spec.step_rules import checked
from privacyfunnel.tables.auditing import audited_joint
from privacyfunnel.tables.changes import as_it_was
from privacyfunnel.tables.sources import open_source

if TYPE_CHECKING:
    from privacyfunnel.cli.steward_only import StewardOnly

PROVEN_OF_MODEL = (
    "Proven, by the file alone: the model follows from its noisy tables, these differ from each other as noise of the "
    "stated size makes them, and noise of that size has the ε₀ and δ₀ that are stated."
)
"""Of a model, beside the promise about rows, which the verdict is on."""


def audit_protocol(spec: AuditSpec, json: bool) -> None:
    """Prove or refute, and say which."""
    spec = checked(spec)
    protocol, table = Path(str(spec.protocol)), Path(spec.table) if spec.table is not None else None
    with show.working(f"reading {protocol.name}"):
        loaded = load_protocol(protocol)
        following.check_follows(loaded, Path(spec.after) if spec.after is not None else None)
    _check_asked(loaded, spec)
    where, was, attack = spec.where, [Path(one) for one in spec.was or ()], bool(spec.attack)
    layout: dict[str, Any] = {"delimiter": spec.delimiter, "encoding": spec.encoding or "utf-8"}
    with show.working("checking the promise in exact arithmetic"):
        alone = audited_alone(loaded) if loaded.carries_counts else None
        exact = on_table = None
        if table is not None:
            people: Any = table
            if was:
                people = open_source(table, **layout, where=where)
                people, where = as_it_was(people, was, loaded, spec.person, **layout)[0], None
            on_table = audited_joint(loaded, people, **layout, where=where)
            exact = audited_on(loaded, on_table) if loaded.step.certified_on_tables else None
    with show.working("attacking it"):
        attacked = attack_report(loaded, on_table) if attack and on_table is not None else None
        tried_on = _tried(loaded, on_table) if on_table is not None and exact is None else None
    promised = cast(Audited, alone or exact)
    reading = next_command.typed(spec, next_command.READING)
    then = next_command.publish(protocol, loaded, table, reading) if promised.certificate else None
    if json:
        show.as_json(_json(loaded, promised, exact, attacked, tried_on) | next_command.data(then))
    else:
        _show(loaded, alone, exact, attacked, tried_on)
        next_command.say(then)
    if not promised.certificate:
        raise typer.Exit(BROKEN)


def _check_asked(protocol: Protocol, spec: AuditSpec) -> None:
    """Refuse what a protocol cannot be asked."""
    if spec.table is None and not protocol.carries_counts:
        raise InvalidInput(
            "only the original table shows whether a promise is kept that was fitted on exact counts: pass it with "
            "--table. What was promised, without it: funnel report PROTOCOL --public -o statement.html"
        )
    if spec.attack and protocol.step.not_attacked:
        raise InvalidInput(protocol.step.not_attacked)
    following_up = protocol.before is not None and spec.table is not None and spec.was is not None
    if (spec.was is not None or spec.person is not None) and not following_up:
        raise InvalidInput("--was and --person are for a follow-up on what people were and are, with today's --table")


def _tried(protocol: Protocol, joint: Joint) -> StewardOnly:
    """What only the steward may see of a model on a table: one trial release, and what attackers learn from it."""
    from privacyfunnel.cli.wide_own import tried  # with all that advice needs

    return tried(protocol, joint)


def _json(
    protocol: Protocol,
    promised: Audited,
    exact: Audited | None,
    attacked: AttackReport | None,
    tried_on: StewardOnly | None,
) -> dict[str, Any]:
    """The audit of the promise; beside that of a file that carries its counts, that of the exact ones."""
    told = everything(protocol) if promised.certificate else None
    content = {
        "secret": protocol.secret,
        "secret_values": promised.secret_values,
        "attributes": list(protocol.attributes),
        **({"filled": list(protocol.fill.names)} if protocol.fill is not None else {}),
        "fitted": protocol.fitted,
        "people": protocol.people,
        "step": protocol.step.kind,
        "release": protocol.releases,
        "everything_published": told.as_dict() if told is not None else None,
        "proven": _proven(protocol, promised),
        "not_proven": not_proven(protocol),
        **promised.data,
        "certificate": certificate_data(promised.certificate),
    }
    own: dict[str, Any] = {}
    if exact is not None and exact is not promised:
        own = {**exact.data, "certificate": certificate_data(exact.certificate)}
    if tried_on is not None:
        own |= tried_on.data or {}
    if attacked is not None:
        own["attack"] = attacked.as_dict()
    return {**content, "steward_only": own} if own else content


def _show(
    protocol: Protocol,
    alone: Audited | None,
    exact: Audited | None,
    attacked: AttackReport | None,
    tried_on: StewardOnly | None,
) -> None:
    screen, promised = show.console(), cast(Audited, alone or exact)
    told = everything(protocol) if promised.certificate else None
    whom = f" {told.whom()}" if told is not None and protocol.before is None else ""
    screen.print(_verdict(promised.certificate), style="bold", markup=False)
    of_all = ", for everything released together" if protocol.before is not None else ""
    screen.print(f"Promise{of_all}: {protocol.notion.words()}{whom}", markup=False)
    if alone is not None:
        screen.print(_secret_line(protocol.secret, alone.secret_values), markup=False)
        screen.print(protocol.step.published_counts, style="bold", markup=False)
        _show_audit(screen, alone)
    proven = _proven(protocol, promised)
    if protocol.fill is not None:
        screen.print(f"Kept columns: {', '.join(protocol.attributes)}. The promise is about these.", markup=False)
        screen.print(protocol.fill.words(), markup=False)
    for line in ([told.words()] if told is not None else []) + proven + not_proven(protocol):
        screen.print(line, markup=False)
    if exact is not None:
        if alone is not None:
            screen.print(marked(EXACT_COUNTS), style="bold")
            screen.print(marked(beside(exact.certificate)))
            if exact.joint is not None and alone.joint is not None:
                for line in show.uncovered_lines(exact.joint, alone.joint):
                    screen.print(line, markup=False)
        else:
            screen.print(_secret_line(protocol.secret, exact.secret_values), markup=False)
        _show_audit(screen, exact, steward=alone is not None)
    if tried_on is not None:
        tried_on.say()
    if attacked is not None:
        show_attack(screen, attacked)


def _proven(protocol: Protocol, promised: Audited) -> list[str]:
    """What is shown beside the promise about rows, which the verdict is on."""
    return [PROVEN_OF_MODEL] if protocol.private and promised.joint is None and promised.certificate else []


def _verdict(certificate: Certificate) -> str:
    """The one verdict, which the exit code follows."""
    if not certificate.holds:
        return f"BROKEN, in exact arithmetic: {certificate.reason}."
    also = "" if certificate else ", but rows that are drawn for values never seen could break the promise"
    return f"{'KEPT' if certificate else 'BROKEN'}, in exact arithmetic: {certificate.reason}{also}."


def beside(certificate: Certificate) -> str:
    """What holds on exact counts, which the promise is not about."""
    return f"{'Within' if certificate else 'Beyond'} what is promised for the published counts: {certificate.reason}."


def _show_audit(screen: Console, audit: Audited, steward: bool = False) -> None:
    """What was checked on some counts: those that the promise is about, or the exact ones beside these."""
    certificate = audit.certificate
    several = len(certificate.levels) > 1 or certificate.notion.beliefs_limited
    lines = [f"  {one.words()}" for one in certificate.levels] if several else []
    if audit.table is not None:
        lines.append(_draws_line(certificate, steward))
    for line in [*lines, *audit.lines]:
        screen.print(marked(line.strip()) if steward else line, markup=False)
    if audit.table is not None:
        screen.print(marked_table(audit.table) if steward else audit.table)


def _secret_line(name: str, values: int) -> str:
    """Whose promise it is: the file says how the secret is read, and could merge its values until none is left."""
    if values == 1:
        return f"Secret: {name}, with a single value as the protocol reads it, so there is nothing to give away."
    return f"Secret: {name}, with {values:,} values as the protocol reads it."


def _draws_line(certificate: Certificate, beside: bool) -> str:
    """What may be done with rows that hold values never seen; on counts that the promise is not about, what they do."""
    if certificate.draws is None:
        return "Values never seen when fitting: refused, since no draw is known to keep the promise for them."
    kept = "keep the promise, too, whoever they belong to" if certificate.draws else "could BREAK the promise"
    if beside:
        kept = f"are {'within' if certificate.draws else 'beyond'} what is promised for the published counts"
    return f"Values never seen when fitting: rows drawn for them (--unseen draw) {kept}."


def certificate_data(certificate: Certificate) -> dict[str, object]:
    """The certificate for machines; which value of the secret is worst is not told."""
    worst = certificate.worst
    return {
        "holds": bool(certificate),
        "level": certificate.level,
        "reason": certificate.reason,
        "draws": certificate.draws,
        "levels": [one.as_dict() for one in certificate.levels],
        "worst_output": worst.output if worst else None,
        "worst_lift": str(worst.lift) if worst else None,
    }
