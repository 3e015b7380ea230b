"""The frequency threshold: combinations of values that too few people have are read as the nearest other one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.estimate import MOST_LISTED
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import Noise, noisy_joint, with_at_least
from privacyfunnel.errors import TooManyReadAsOthers
from privacyfunnel.numeric.information import share_kept
from privacyfunnel.promises.notion import Notion
from privacyfunnel.typing import Integers

USUAL = 10
"""The threshold that statistical offices commonly use."""
MOST_READ_AS_OTHERS = 0.05
"""Of the people: if more are read as others, shares of single values are off by up to this, and rare values vanish."""
SURE = 2.0
"""Standard errors beside an estimate, as is common: it is as far off in one case of twenty."""


def usual_threshold(kind: type[Notion], confidence: float | None, combinations: float = math.inf) -> int:
    """The threshold of a private fit unless somebody chooses otherwise: none where so few combinations can be listed.

    There is none either for promises that speak of every combination as it is: those about attackers who know columns,
    and those about a population, with a confidence.
    """
    return usual_where_any(combinations) if can_have_threshold(kind, confidence) else 0


def usual_where_any(combinations: float) -> int:
    """The same for promises that can have one."""
    return USUAL if combinations > MOST_LISTED else 0


def can_have_threshold(kind: type[Notion], confidence: float | None) -> bool:
    """Whether a promise does not speak of every combination as it is."""
    return confidence is None and "known" not in kind.parameters()


@dataclass(frozen=True)
class Threshold:
    """What a frequency threshold did, as far as the counts at hand tell."""

    at_least: int
    combinations: int
    """How many combinations people had before."""
    kept: int
    people: int
    """About how many people's combination is read as another one."""
    share: float
    """Of all people."""
    information: float
    """The share of the information in the attributes that is lost by that."""
    noisy: bool
    error: float = 0.0
    """The standard error of the share, by noise."""

    @property
    def too_many(self) -> bool:
        """Whether so many people are read as others that the table is ruined."""
        return self.share > MOST_READ_AS_OTHERS

    def refuse_many(self) -> None:
        """Refuse where too many people are read as others. Of noisy counts this follows from them alone."""
        if self.too_many:
            raise TooManyReadAsOthers(
                f"{self._share_words()} of the people would be read as having another combination of values, more than "
                f"{MOST_READ_AS_OTHERS:.0%}",
                steward_only=not self.noisy,
            )

    def _share_words(self) -> str:
        """The share, with what noise leaves open."""
        return f"{self.share:.1%}" if not self.noisy else f"about {self.share:.1%} (± {SURE * self.error:.1%})"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def _others_words(self) -> str:
        """Who is read as another combination."""
        if not self.noisy:
            return f"The others, {self.people:,} people ({self.share:.1%}),"
        return f"The others, about {self.people:,} people ({self.share:.1%} ± {SURE * self.error:.1%}),"

    def _cost_words(self) -> str:
        """What that costs, where the counts tell it: noise hides what rare combinations tell."""
        return "" if self.noisy else f", which costs {self.information:.1%} of the information"

    def words(self) -> str:
        """What it did in two sentences."""
        least = (
            f"no combination of values in the protocol stands for fewer than {self.at_least} people"
            f"{', by noisy counts' if self.noisy else ''}"
        )
        if not self.at_least:
            least = "only counts that stand out from the noise are told"
        kept = f"Of {self.combinations:,} combinations {self.kept:,} are kept"
        if self.combinations == self.kept:  # of those that are told
            kept = f"{self.kept:,} combinations are kept"
        return (
            f"Frequency threshold: {least}. {kept}. "
            f"{self._others_words()} are read as the nearest of these{self._cost_words()}. This is no cure for class "
            "disclosure (groups that all share one secret): the promise is."
        )


def threshold(before: Joint, after: Joint) -> Threshold:
    """What became of the combinations of exact counts in `after`, which has fewer of them."""
    left = {codes: x for x, codes in enumerate(map(tuple, after.codes.tolist()))}
    gone = np.array([codes not in left for codes in map(tuple, before.codes.tolist())])
    share = float(before.p_x[gone].sum())
    lost = 1.0 - share_kept(after.entropy, before.entropy)
    return Threshold(after.at_least, before.n_x, after.n_x, round(share * before.total), share, lost, noisy=False)


def thresholded(joint: Joint, at_least: int) -> tuple[Joint, Threshold]:
    """An exact joint with a frequency threshold."""
    fewer = with_at_least(joint, at_least)
    return fewer, threshold(joint, fewer)


def of_noisy(joint: Joint) -> Threshold | None:
    """What a threshold did to a joint with noise: one on people, or that of δ₀; None if it has neither.

    Of n people, those whose combination is kept are about the sum of its noisy counts, with noise of variance 2b² in
    each of them, b its scale. All others are read as one of these. What they would tell is not known.
    """
    noise = joint.noise
    if noise is None or not (joint.at_least or noise.codes is not None):
        return None
    kept = _places(joint, noise)
    share = min(1.0, max(0.0, 1.0 - float(noise.counts[:, kept].sum()) / noise.people))
    error = noise.scale * math.sqrt(2.0 * float(noise.terms.sum()) * len(kept)) / noise.people
    people, before = round(share * noise.people), noisy_joint(noise, joint.columns, joint.secret)
    lost = 1.0 - share_kept(joint.entropy, before.entropy)
    return Threshold(joint.at_least, before.n_x, joint.n_x, people, share, lost, noisy=True, error=error)


def _places(joint: Joint, noise: Noise) -> Integers:
    """The numbers of a joint's combinations among those that have noisy counts."""
    if noise.codes is None:
        return np.asarray(np.ravel_multi_index(tuple(joint.codes.T), [len(column) for column in joint.columns]))
    place = {codes: i for i, codes in enumerate(map(tuple, noise.codes.tolist()))}
    return np.array([place[codes] for codes in map(tuple, joint.codes.tolist())])
