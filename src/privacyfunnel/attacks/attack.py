"""attack: what attackers gain from released rows, compared with the original rows and with nothing; and from none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privacyfunnel.attacks.bayes import Attacker, Told, bayes, level_by, reached_by, told_of_each
from privacyfunnel.attacks.from_protocol import Named, from_protocol
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.protocol import Protocol

if TYPE_CHECKING:
    from privacyfunnel.attacks.learned import Learned


@dataclass(frozen=True)
class Attack:
    """What attackers gain from the released rows of a protocol, compared with the original rows and with nothing."""

    promise: str
    within: bool
    """Whether the beliefs of all attackers that the promise is about stay within it, in exact arithmetic."""
    level: float
    """The smallest ε at which this kind of promise is kept, rounded up."""
    attackers: tuple[Attacker, ...]
    """The first one knows nothing but the released row."""
    learned: Learned | None = None
    """How well models do that were trained on rows."""
    each: tuple[Told, ...] = ()
    """Where the promise speaks of several things: what is learned of each of them."""
    named: tuple[Named, ...] = ()
    """How many people's secrets the protocol tells by itself, where few share their combination of values."""

    @property
    def blind(self) -> Attacker:
        """The attacker who knows nothing beforehand."""
        return self.attackers[0]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; no value of the secret is in it."""
        return {
            "promise": self.promise,
            "within": self.within,
            "level": self.level,
            "attackers": [attacker.as_dict() for attacker in self.attackers],
            "each": [one.as_dict() for one in self.each],
            "learned": self.learned.as_dict() if self.learned is not None else None,
            "named": [each.as_dict() for each in self.named],
        }


def attack(
    joint_or_table: Any,
    protocol: Protocol,
    *,
    known: int | Sequence[str] | None = None,
    learned: bool = False,
    protocol_alone: bool = True,
    seed: int | None = None,
) -> Attack:
    """What an attacker gains: the Bayes attacker exactly, with and without knowing attributes beforehand.

    From the protocol alone, without a released row, people are named whose combination of values few share, if `joint`
    counts people and `protocol_alone` is not switched off.

    `known` says what attackers may know: any so many attributes, or any of those listed; without it, what the
    promise guards against, and every attribute by itself. `learned` also trains models on
    rows, which needs scikit-learn; `seed` makes their folds and draws repeatable.

    >>> joint = Joint([[30, 10], [10, 50]])
    >>> found = attack(joint, optimise(joint, LIP(0.1)))
    >>> found.within, found.blind.after < found.blind.original
    (True, True)
    """
    joint = joint_of(joint_or_table, protocol)
    outcomes, notion = Outcomes.of(protocol, joint), protocol.notion
    found = bayes(outcomes, joint, notion, known)
    model = None
    if learned:
        from privacyfunnel.attacks.learned import learn

        model = learn(joint, protocol, seed=seed)
    named = from_protocol(protocol, joint) if protocol_alone and joint.counted else ()
    promised = [attacker for attacker in found if attacker.promised]
    if notion.simple:
        level, within = notion.level_of(reached_by(promised)), all(attacker.within for attacker in promised)
        return Attack(notion.words(), within, level, tuple(found), model, (), named)
    told = told_of_each(outcomes, joint, notion)
    each = tuple(one for _, _, one in told)
    within, level = all(one.within for one in each), level_by(told, notion.epsilon)
    return Attack(notion.words(), within, level, tuple(found), model, each, named)


def joint_of(joint_or_table: Any, protocol: Protocol) -> Joint:
    """The distribution itself, or that of a table, read as the protocol says."""
    if not isinstance(protocol, Protocol):
        raise InvalidInput(f"attack needs a Protocol, not {type(protocol).__name__}")
    if isinstance(joint_or_table, Joint):
        return joint_or_table
    from privacyfunnel.tables.auditing import audited_joint

    return audited_joint(protocol, joint_or_table)
