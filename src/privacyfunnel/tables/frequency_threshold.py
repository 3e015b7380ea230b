"""The frequency threshold: combinations of values that too few people have are read as the nearest other one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import noisy_joint, with_at_least
from privacyfunnel.numeric.information import share_kept
from privacyfunnel.promises.notion import Notion

USUAL = 10
"""The threshold that statistical offices commonly use."""


def usual_threshold(kind: type[Notion], confidence: float | None) -> int:
    """The threshold unless somebody chooses otherwise; 0 for promises that speak of every combination as it is.

    Those are promises about attackers who know columns, and those about a population, with a confidence.
    """
    return 0 if confidence is not None or "known" in kind.parameters() else USUAL


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

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def words(self) -> str:
        """What it did in two sentences."""
        told = "about " if self.noisy else ""
        return (
            f"Frequency threshold: no combination of values in the protocol stands for fewer than {self.at_least} "
            f"people{', by noisy counts' if self.noisy else ''}. Of {self.combinations:,} combinations {self.kept:,} "
            f"are kept; the others, {told}{self.people:,} people ({self.share:.1%}), are read as the nearest of these, "
            f"which costs {self.information:.1%} of the "
            "information. This is no cure for class disclosure (groups that all share one secret): the promise is."
        )


def threshold(before: Joint, after: Joint, people: int) -> Threshold:
    """What became of the combinations of `before` in `after`, which has fewer of them."""
    left = {codes: x for x, codes in enumerate(map(tuple, after.codes.tolist()))}
    gone = np.array([codes not in left for codes in map(tuple, before.codes.tolist())])
    share = float(before.p_x[gone].sum())
    lost = 1.0 - share_kept(after.entropy, before.entropy)
    return Threshold(after.at_least, before.n_x, after.n_x, round(share * people), share, lost, after.noise is not None)


def thresholded(joint: Joint, at_least: int) -> tuple[Joint, Threshold]:
    """An exact joint with a frequency threshold."""
    fewer = with_at_least(joint, at_least)
    return fewer, threshold(joint, fewer, joint.total)


def of_noisy(joint: Joint) -> Threshold | None:
    """What the threshold of a joint with noise did; None if it has none."""
    noise = joint.noise
    if noise is None or not joint.at_least:
        return None
    return threshold(noisy_joint(noise, joint.columns, joint.secret), joint, noise.people)
