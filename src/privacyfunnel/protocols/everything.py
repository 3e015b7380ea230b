"""Everything published: what the protocol's file and all released rows tell about one person together.

The promise is about a row. The file was computed from the secrets, too: a private fit bounds what it tells by e^ε₀, and
both together by e^(ε+ε₀) (docs/theory.md). A fit on exact counts bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from privacyfunnel.distribution.noise import Noise
from privacyfunnel.promises.notion import factor
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind

CHANCES = 100
"""At most so many times δ₀ is the chance of a lift that is 2% beyond a factor: 1/(1 − 1/1.02) = 51 (docs/theory.md)."""


@dataclass(frozen=True)
class Everything:
    """How far a belief about somebody's secret moves at most, in nats, to those who know all other people's records."""

    one_row: float
    """ε: by the released row alone, to those who know no more than what is published."""
    fit: float | None
    """ε₀: by everything, if all the other columns of this person are known, too. None: there is no bound."""
    delta: float
    """δ₀: the probability with which ε₀ may fail."""
    declared: bool
    """Whether values and ranges were declared beforehand. Otherwise they come from the table, and are not protected."""
    falls: bool
    """Whether the promise bounds beliefs that fall as well as those that grow."""
    robust: bool
    """Whether it also holds for the population, with a confidence."""
    faint: int = 0
    """Values of the secret that are too rare to show through the noise: the promise about a row is empty for them."""
    secrets: int = 0
    """How many values the secret has in the noisy counts."""
    limits: tuple[str, ...] = ()
    """What the promise speaks of, each with its limit, where that is more than one ε for every value."""
    fill_delta: float = 0.0
    """The part of δ₀ that is of Gaussian noise, on the tables of the columns that are filled."""

    @property
    def known_columns(self) -> float:
        """ε₀, and what having a δ₀ adds to it."""
        return (self.fit or 0.0) - math.log1p(-(self.delta - self.fill_delta))

    @property
    def together(self) -> float | None:
        """ε + ε₀."""
        return None if self.fit is None or self.limits else self.one_row + self.known_columns

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        content = asdict(self) | {"together": self.together}
        return content if self.fill_delta else {key: content[key] for key in content if key != "fill_delta"}

    def words(self) -> str:
        """The level "everything published" in a few sentences."""
        if self.fit is None:
            return NO_BOUND
        if self.together is None:
            return f"{self._wider_words()}{self._not_protected()}"
        moves = "changes" if self.falls else "raises"
        text = (
            f"Everything that is published, this protocol and all released rows together: {self._who()}, {moves} their "
            f"belief about this person's secret by at most a factor {factor(self.together)} (e^(ε+ε₀), ε₀ = "
            f"{self.fit:g}). {self._others()}"
        )
        return f"{text}{self._not_protected()}"

    def _wider_words(self) -> str:
        """By how much limits of several kinds grow."""
        return (
            "Everything that is published, this protocol and all released rows together, widens each of these limits "
            f"({', '.join(self.limits)}) by at most a factor {factor(self.known_columns)} (e^ε₀, ε₀ = {self.fit:g}), "
            f"for {self._who()}. {self._others()}"
        )

    def _who(self) -> str:
        """Whom a promise about rows is made to, if they know others, too."""
        return (
            "somebody who knows everybody else's record, and about this person only what the published statistics say "
            f"{'or leave open ' if self.robust else ''}about everyone"
        )

    def _others(self) -> str:
        """What holds for those who know more of this person, for nobody else, and how seldom it may fail."""
        chance = (
            f" Both may fail with a chance of {self.delta:g} (δ₀), by bad luck with the noise." if self.delta else ""
        )
        if self.fill_delta:
            chance = f" {chance_words(self.delta)}"
        return (
            "Somebody who knows everybody else's record and all other columns of this person changes theirs by at most "
            f"a factor {factor(self.known_columns)} (e^ε₀).{chance} {NOT_BOUNDED}"
        )

    def _not_protected(self) -> str:
        """What is left over: lists and ranges that were read from the table, and rare values."""
        text = "" if self.declared else f" {NOT_DECLARED}"
        return f"{text} {self.faint_words()}" if self.faint else text

    def faint_words(self) -> str:
        """What is not known of values of the secret that are too rare."""
        which = "One" if self.faint == 1 else f"{self.faint}"
        bounded = " With the confidence they are covered." if self.robust else ""
        return (
            f"{which} of the {self.secrets} values of the secret {self._rare()}: how the columns go with it is not "
            f"known, so that what a row tells about it is not limited by the promise about rows.{bounded}"
        )

    def whom(self) -> str:
        """For whom the promise about a row holds."""
        if self.fit is None:
            return "It holds against anyone who knows only how the people of this table are distributed."
        more = " or leave open" if self.robust else ""
        but = ""
        if self._uncovered:
            which = "one" if self.faint == 1 else f"{self.faint}"
            but = f" It does not cover {which} of the {self.secrets} values of the secret, which {self._rare()}."
        return (
            f"It holds against anyone who knows only the published statistics, and expects of a person what these say"
            f"{more}. Anybody can check that with the protocol alone (funnel audit).{but}"
        )

    def _rare(self) -> str:
        """Why a value of the secret is not covered."""
        return f"{'is' if self.faint == 1 else 'are'} too rare to show through the noise"

    @property
    def _uncovered(self) -> bool:
        """Whether some values of the secret are too rare for the promise about a row."""
        return self.faint > 0 and not self.robust


def chance_words(delta: float) -> str:
    """What δ₀ of Gaussian noise means."""
    return (
        "δ₀ is by how much this may fail: a belief moves by more than 2% beyond these factors with a chance of at "
        f"most {CHANCES * delta:g}."
    )


@dataclass(frozen=True)
class EverythingOfModel(Everything):
    """The same of a release by a model, where what is published about everyone is the model."""

    whatever: float | None = None
    """ε₁: by the tables with Gaussian noise, whatever was expected of this person before."""

    def words(self) -> str:
        """The level "everything published" in a few sentences."""
        if self.fit is None:
            return NO_BOUND
        together, alone = factor(self.one_row + self.fit), factor(self.fit)
        who = "if they expect of this person what the published model says of everyone"
        if self.whatever is not None:
            who = (
                "if what they expected of this person was fixed before the model was made, and is a distribution for "
                f"which the promise about rows holds; by at most a factor {factor(self.one_row + self.whatever)} "
                f"(e^(ε+ε₁), ε₁ = {self.whatever:.3g}), {who}"
            )
        text = (
            "Everything that is published, this protocol and all released rows together: somebody who knows everybody "
            f"else's record changes their belief about this person's secret by at most a factor {together} (e^(ε+ε₀), "
            f"ε₀ = {self.fit:g}, δ₀ = {self.delta:g}), {who}; and by at most a factor {alone} (e^ε₀), if they "
            f"know all other columns of this person. {NOT_BOUNDED}"
        )
        text = f"{text} {self._chance()}" if self.delta else text
        return text if self.declared else f"{text} {NOT_DECLARED}"

    def _chance(self) -> str:
        """What δ₀ means."""
        return chance_words(self.delta)

    def whom(self) -> str:
        """For whom the promise about a row holds."""
        return (
            "It holds against anyone who knows only the published model of how columns go with the secret. Anybody can "
            "check that with the protocol alone (funnel audit). Somebody who knows more than the model, from other "
            "data, may learn more from a row."
        )


EXACT_COUNTS = (
    "For you alone: on the exact counts of this table, which nobody else knows and the promise is not about. They "
    "depend on single people's secrets."
)
NO_BOUND = (
    "Everything that is published: no bound. The protocol was fitted on exact counts, so that the file itself tells "
    "secrets of people whose combination of values few share. It is for research and for internal use only."
)
NOT_BOUNDED = (
    "For other expectations no factor is proven: somebody who knows everybody else's record, and expects this person "
    "to be like them, may learn more from a row."
)
NOT_DECLARED = (
    "The lists of values and the ranges were read from the table and are not protected: a value that only one person "
    "has is visible."
)


def everything(protocol: Protocol) -> Everything | None:
    """What a protocol fitted on people and its released rows tell together; None if it was not fitted on people."""
    if protocol.fitted == "given probabilities":
        return None
    noise, limits = protocol.noise, protocol.notion.limits
    fits = [one.spent for one in protocol.chain]  # each of them told something of everybody
    private = [each for each in fits if each is not None]
    bounded = len(private) == len(fits)
    told = Everything(
        one_row=protocol.notion.epsilon,
        fit=sum(each.epsilon for each in private) if bounded else None,
        delta=sum(each.delta for each in private) if bounded else 0.0,
        declared=bounded and all(each.declared for each in private),
        falls=math.isfinite(limits.lower) or math.isfinite(limits.spread),
        robust=protocol.notion.confidence is not None,
        faint=len(noise.faint) if noise is not None else 0,
        secrets=len(noise.counts) if noise is not None else 0,
        fill_delta=protocol.fill.noise.delta if protocol.fill is not None else 0.0,
        limits=() if protocol.notion.simple else tuple(" ".join(part) for part in protocol.notion.parts()),
    )
    return KINDS_OF[protocol.step.kind](protocol, told)


def _of_model(protocol: Protocol, told: Everything) -> Everything:
    return EverythingOfModel(**vars(told), whatever=protocol.step.by_model.whatever_expected)


KINDS_OF: dict[Kind, Callable[[Protocol, Everything], Everything]] = {
    "channel": lambda _, told: told,
    "by_history": lambda _, told: told,
    "by_model": _of_model,
}


def uncovered_words(noise: Noise | None, secrets: Sequence[Hashable]) -> str:
    """To the steward, which of these values of the secret are too rare for the promise about a row; nothing if none is.

    A file does not name them. A table at hand does, if all values that noisy counts have occur in it.
    """
    if noise is None or not noise.faint.size or len(noise.counts) != len(secrets):
        return ""
    rare = [secrets[s] for s in noise.faint.tolist()]
    names = [f"{one:g}" if isinstance(one, float) else str(one) for one in rare]
    return f"For you alone: too rare to show through the noise: {', '.join(names)}."
