"""funnel audit: does a protocol keep its promise, on the counts that it carries or on a table?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from privacyfunnel.attacks.findings import Findings, findings
from privacyfunnel.cli import following, found_follow_up, next_command, options, show
from privacyfunnel.cli.attack import AttackReport, attack_report, show_attack
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.stopping import BROKEN
from privacyfunnel.proof.level_of_history import LevelOfHistory, levels_of_history
from privacyfunnel.proof.public import audit_publicly
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.any_file import load as load_protocol
from privacyfunnel.protocols.everything import EXACT_COUNTS, everything, not_proven
from privacyfunnel.protocols.follow_up import FollowUp
from privacyfunnel.protocols.json_file import is_wide
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.auditing import audit_table
from privacyfunnel.tables.changes import as_it_was
from privacyfunnel.tables.sources import open_source


def audit(
    context: typer.Context,
    protocol: Annotated[Path, typer.Argument(help="The protocol, as written by funnel fit.")],
    table: Annotated[
        Path | None,
        typer.Option(help="The original table. Needed unless the fit was private: then the protocol carries counts."),
    ] = None,
    attack: Annotated[
        bool,
        typer.Option(
            "--attack", help="Also attack it: exactly, with models that learn, released twice, and the file by itself."
        ),
    ] = False,
    after: Annotated[
        Path | None, typer.Option("--after", help="Of a follow-up: a protocol that it must follow, by its digest.")
    ] = None,
    was: following.Was = None,
    person: following.Person = None,
    where: options.Where = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    json: options.Json = False,
) -> None:
    """Check in exact arithmetic that a protocol keeps its promise. Exit code 0: kept, 1: broken.

    A private fit is checked on the noisy counts that its file carries, by anybody. One on exact counts needs the table.

    Example: funnel audit protocol.json --table people.csv
    """
    if is_wide(protocol):
        from privacyfunnel.cli.wide_audit import audit_wide

        audit_wide(protocol, table, attack, json)
        return
    with show.working(f"reading {protocol.name}"):
        loaded = load_protocol(protocol)
        following.check_follows(loaded, after)
    if table is None and loaded.noise is None:
        raise InvalidInput(
            "only the original table shows whether a promise is kept that was fitted on exact counts: pass it with "
            "--table. What was promised, without it: funnel report PROTOCOL --public -o statement.html"
        )
    if table is None and where is not None:
        raise InvalidInput("--where says which rows of a table are meant, so it needs --table")
    if table is None and attack:
        raise InvalidInput("an attack is scored on the people of the original table: pass it with --table")
    if (was or person is not None) and not (isinstance(loaded, FollowUp) and table is not None and was):
        raise InvalidInput("--was and --person are for a follow-up on what people were and are, with today's --table")
    if isinstance(loaded, FollowUp):
        with show.working("checking everything that was released in exact arithmetic"):
            people: Any = table
            if was:
                people = open_source(cast(Path, table), delimiter=delimiter, encoding=encoding, where=where)
                people, where = as_it_was(people, was, loaded, person, delimiter, encoding)[0], None
            checked = _follow_up_audits(loaded, people, delimiter, encoding, where)
        _show_follow_up(loaded, checked, json, next_command.publish(protocol, loaded))
        return
    exact = None
    with show.working("checking the promise in exact arithmetic"):
        public = _Audit.of(loaded, *audit_publicly(loaded)) if loaded.noise is not None else None
        if table is not None:
            exact = _Audit.of(loaded, *audit_table(loaded, table, delimiter=delimiter, encoding=encoding, where=where))
    with show.working("attacking it"):
        attacked = attack_report(loaded, exact.joint) if attack and exact is not None else None
    promised = cast(_Audit, public or exact)
    reading = next_command.typed(context, next_command.READING)
    then = next_command.publish(protocol, loaded, table, reading) if promised.certificate else None
    if json:
        show.as_json(_json(loaded, promised, exact, attacked) | next_command.data(then))
    else:
        _show(loaded, public, exact, attacked)
        next_command.say(then)
    if not promised.certificate:
        raise typer.Exit(BROKEN)


def _follow_up_audits(
    follow_up: FollowUp, table: Any, delimiter: str | None, encoding: str, where: str | None
) -> list[tuple[str, Certificate, tuple[LevelOfHistory, ...]]]:
    """What is checked on which counts: the published ones first, which the promise is about."""
    found = []
    if follow_up.noise is not None:
        joint, certificate = audit_publicly(follow_up)
        levels = levels_of_history(follow_up, joint.before_gathering or joint)
        found.append(("On the published counts:", certificate, levels))
    if table is not None:
        joint, certificate = audit_table(follow_up, table, delimiter=delimiter, encoding=encoding, where=where)
        levels = levels_of_history(follow_up, joint) if certificate.worst is not None else ()
        found.append((EXACT_COUNTS if found else "", certificate, levels))
    return found


def _show_follow_up(
    follow_up: FollowUp,
    found: list[tuple[str, Certificate, tuple[LevelOfHistory, ...]]],
    json: bool,
    then: next_command.Words | None,
) -> None:
    """The verdict on everything together; exit code 1 if the promise is broken."""
    (_, promised, levels), told = found[0], everything(follow_up)
    then = then if promised else None
    if json:
        content = {
            "secret": follow_up.secret,
            "fitted": follow_up.fitted,
            "release": follow_up.releases,
            "everything_published": told.as_dict() if told is not None else None,
            "not_proven": not_proven(follow_up.noise is not None),
            **found_follow_up.measured(follow_up, promised, levels),
            "certificate": _data(promised),
            **next_command.data(then),
        }
        if len(found) > 1:
            content["steward_only"] = {
                **found_follow_up.measured(follow_up, *found[1][1:]),
                "certificate": _data(found[1][1]),
            }
        show.as_json(content)
    else:
        screen = show.console()
        screen.print(_verdict(promised), style="bold")
        screen.print(f"Promise, for everything released together: {follow_up.notion.words()}", markup=False)
        for whose, certificate, own in found:
            steward = certificate is not promised
            if whose:
                screen.print(marked(whose) if steward else whose, style="bold")
            lines = [*([_beside(certificate)] if steward else []), *found_follow_up.level_lines(own)]
            for line in lines:
                screen.print(marked(line) if steward else line, markup=False)
        for line in ([told.words()] if told is not None else []) + not_proven(follow_up.noise is not None):
            screen.print(line, markup=False)
        next_command.say(then)
    if not promised:
        raise typer.Exit(BROKEN)


@dataclass(frozen=True, eq=False)
class _Audit:
    """A distribution, the certificate of a protocol on it, and what it comes to."""

    joint: Joint
    certificate: Certificate
    findings: Findings

    @classmethod
    def of(cls, protocol: Protocol, joint: Joint, certificate: Certificate) -> _Audit:
        """With what rows tell on this distribution."""
        return cls(joint, certificate, findings(protocol, joint, certificate))


def _json(protocol: Protocol, promised: _Audit, exact: _Audit | None, attacked: AttackReport | None) -> dict[str, Any]:
    """The audit of the promise; beside a private fit's, that of the exact counts."""
    told = everything(protocol)
    content = {
        "secret": protocol.secret,
        "secret_values": promised.joint.n_s,
        "fitted": protocol.fitted,
        "everything_published": told.as_dict() if told is not None else None,
        "not_proven": not_proven(protocol.noise is not None),
        **promised.findings.as_dict(),
        "certificate": _data(promised.certificate),
    }
    own: dict[str, Any] = {}
    if exact is not None and exact is not promised:
        own = {**exact.findings.as_dict(), "certificate": _data(exact.certificate)}
    if attacked is not None:
        own["attack"] = attacked.as_dict()
    return {**content, "steward_only": own} if own else content


def _show(protocol: Protocol, public: _Audit | None, exact: _Audit | None, attacked: AttackReport | None) -> None:
    screen, told = show.console(), everything(protocol)
    whom = f" {told.whom()}" if told is not None else ""
    promised = cast(_Audit, public or exact)
    screen.print(_verdict(promised.certificate), style="bold")
    screen.print(f"Promise: {protocol.notion.words()}{whom}", markup=False)
    if public is not None:
        screen.print(_secret_line(protocol.secret, public.joint.n_s), markup=False)
        screen.print("On the published counts:", style="bold")
        _show_audit(screen, public)
    for line in ([told.words()] if told is not None else []) + not_proven(protocol.noise is not None):
        screen.print(line, markup=False)
    if exact is not None:
        if public is not None:
            screen.print(marked(EXACT_COUNTS), style="bold")
            screen.print(marked(_beside(exact.certificate)))
            for line in show.uncovered_lines(exact.joint, public.joint):
                screen.print(line, markup=False)
        else:
            screen.print(_secret_line(protocol.secret, exact.joint.n_s), markup=False)
        _show_audit(screen, exact, steward=public is not None)
    if attacked is not None:
        show_attack(screen, attacked)


def _verdict(certificate: Certificate) -> str:
    """The one verdict, which the exit code follows."""
    if not certificate.holds:
        return f"BROKEN, in exact arithmetic: {certificate.reason}."
    also = "" if certificate else ", but rows that are drawn for values never seen could break the promise"
    return f"{'KEPT' if certificate else 'BROKEN'}, in exact arithmetic: {certificate.reason}{also}."


def _beside(certificate: Certificate) -> str:
    """What holds on exact counts, which the promise is not about."""
    return f"{'Within' if certificate else 'Beyond'} what is promised for the published counts: {certificate.reason}."


def _show_audit(screen: Console, audit: _Audit, steward: bool = False) -> None:
    """What was checked on some counts: those that the promise is about, or the exact ones beside these."""
    certificate = audit.certificate
    several = len(certificate.levels) > 1 or certificate.notion.beliefs_limited
    lines = [f"  {one.words()}" for one in certificate.levels] if several else []
    lines.append(_draws_line(certificate, steward))
    if certificate.worst is not None:
        lift = certificate.worst.lift
        about = f" ≈ {float(lift):.6g}" if lift is not None else ""
        lines.append(f"Tightest at output {certificate.worst.output}, where the exact factor is {lift}{about}.")
    table = show.findings_table(audit.findings)
    for line in lines + show.about_table(certificate.notion):
        screen.print(marked(line.strip()) if steward else line, markup=False)
    screen.print(marked_table(table) if steward else table)


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


def _data(certificate: Certificate) -> dict[str, object]:
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
