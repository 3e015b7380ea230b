"""What funnel audit --attack shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.attacks.attack import Attack, attack
from privacyfunnel.attacks.bayes import Attacker
from privacyfunnel.attacks.from_protocol import Named
from privacyfunnel.attacks.learned import Learned
from privacyfunnel.attacks.repetition import Repeated, repeated
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, MissingExtra
from privacyfunnel.protocols.protocol import Protocol

RELEASES = (1, 2, 3, math.inf)
"""A few fresh releases of the same table, and what is left of the promise when there is no end to them."""


@dataclass(frozen=True)
class AttackReport:
    """An attack and what repeated releases would give away; and why a part of it is not there."""

    attack: Attack
    repeated: tuple[Repeated, ...]
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        again = [each.as_dict() for each in self.repeated]
        return {**self.attack.as_dict(), "repeated": again, "remarks": list(self.remarks)}


def attack_report(protocol: Protocol, joint: Joint) -> AttackReport:
    """Everything that can be computed here; what cannot is remarked upon."""
    remarks: list[str] = []
    again: list[Repeated] = []
    try:
        found = attack(joint, protocol, learned=True)
    except (MissingExtra, InvalidInput) as reason:
        remarks.append(f"No learned attacker: {reason}.")
        found = attack(joint, protocol)
    for k in RELEASES:
        try:
            again += repeated(joint, protocol, [k])
        except InvalidInput as reason:
            remarks.append(f"Not computed for {k:g} releases: {reason}.")
    return AttackReport(found, tuple(again), tuple(remarks))


def show_attack(screen: Console, found: AttackReport) -> None:
    """For the steward alone: the Bayes attackers, the learned ones, repeated releases, and the protocol by itself."""
    screen.print(marked_table(_bayes(found.attack)))
    for one in found.attack.each:
        screen.print(marked(one.words()), markup=False)
    if found.attack.learned is not None:
        screen.print(marked_table(_learned(found.attack.learned, found.attack.blind)))
    screen.print(marked_table(_repeated(found.repeated)))
    if found.attack.named:
        screen.print(marked_table(_named(found.attack.named)))
    for remark in found.remarks:
        screen.print(marked(remark), markup=False)


def _bayes(found: Attack) -> Table:
    table = Table(title="Somebody who knows everything but this person", title_justify="left", header_style="bold")
    table.add_column("knows beforehand", overflow="fold")
    for heading in ("promised", "belief grows", "falls", "guess before", "with release", "with original"):
        table.add_column(heading, justify="right")
    for each in found.attackers:
        falls = f"×{float(each.fall):.3g}" if each.fall else "to nothing"
        promised = ("within" if each.within else "beyond") if each.promised else "no"
        guesses = [f"{float(share):.1%}" for share in (each.before, each.after, each.original)]
        known = escape(", ".join(each.known)) or "nothing"
        table.add_row(known, promised, f"×{float(each.rise):.4g}", falls, *guesses)
    return table


def _learned(found: Learned, bayes: Attacker) -> Table:
    title = f"Models trained on rows ({found.rows:,} rows, {found.folds} folds)"
    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in ("seen", "best model", "guess right", "log-loss", "at best possible"):
        table.add_column(heading, justify="left" if heading in ("seen", "best model") else "right")
    for seen, score, best in (
        ("nothing", found.nothing, bayes.before),
        ("the released row", found.released, bayes.after),
        ("the original row", found.original, bayes.original),
    ):
        right = f"{score.accuracy:.1%} ± {score.accuracy_error:.1%}"
        table.add_row(seen, score.model, right, f"{score.log_loss:.4f}", f"{float(best):.1%}")
    return table


def _repeated(found: tuple[Repeated, ...]) -> Table:
    title = "If the same table were released again"
    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in ("releases", "level", "promise", "best guess right"):
        table.add_column(heading, justify="right")
    for each in found:
        times = f"{each.releases:g}" if math.isfinite(each.releases) else "ever more"
        table.add_row(f"{times}, fresh" if each.releases > 1 else times, *_told_by(each))
    for each in found:
        if each.releases == 1:  # who is released again has the same row, which tells nothing new
            table.add_row("ever more, --remember", *_told_by(each))
    return table


def _told_by(each: Repeated) -> tuple[str, str, str]:
    level = f"{each.level:.4g}" if math.isfinite(each.level) else "no limit"
    return level, "within" if each.within else "beyond", f"{float(each.best_guess):.1%}"


def _named(found: tuple[Named, ...]) -> Table:
    title = "From the protocol file alone: people whose secret is named"
    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in ("attack", "shared by", "people", "named right", "by guessing"):
        table.add_column(heading, justify="left" if heading in ("attack", "shared by") else "right")
    for each in found:
        shared = "nobody" if each.group == "alone" else f"{each.group} people"
        shares = [f"{count:,} ({count / each.people:.0%})" for count in (each.right, each.guessing)]
        table.add_row(each.attack, shared, f"{each.people:,}", *shares)
    return table
