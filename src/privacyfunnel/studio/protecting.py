"""What a protocol is computed from: the counts of some columns, with noise that is drawn once for each ε₀."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.for_steward import ForSteward
from privacyfunnel.tables.frequency_threshold import USUAL, can_have_threshold, usual_where_any
from privacyfunnel.tables.private_counts import USUAL_EPSILON
from privacyfunnel.tables.too_fine import fineness

EPSILONS = (0.1, 0.5, USUAL_EPSILON, 2.0)
"""The ε₀ to choose from: from noise that a table of a few thousand rows hardly bears to noise that few tables feel."""
THRESHOLDS = (1, 5, USUAL, 20, 50)
"""The frequency thresholds that statistical offices use; 1: the usual one, which is none where combinations are few."""
EXACT = "exact"
"""The choice of exact counts."""


@dataclass(frozen=True)
class Protection:
    """How people are protected from what the protocol itself tells."""

    private: float | None
    """ε₀; None: not at all, the counts are exact."""
    at_least: int
    """The frequency threshold; 1: the usual one, 0: none, whatever is usual."""
    insist: bool = False
    """Whether many people may be read as having another combination of values."""
    delta: float | None = None
    """δ₀ of the noise, where it is said."""

    @classmethod
    def usual(cls, promise: Notion) -> Protection:
        """That of the command line."""
        return cls(USUAL_EPSILON, int(can_have_threshold(type(promise), promise.confidence)))

    @classmethod
    def chosen(
        cls, private: str, at_least: str, kind: type[Notion], confidence: str, insist: bool = False
    ) -> Protection:
        """What is chosen on the page; some promises go without a threshold."""
        epsilons = {EXACT: None, **{f"{epsilon:g}": epsilon for epsilon in EPSILONS}}
        thresholds = {str(people): people for people in THRESHOLDS}
        if private not in epsilons or at_least not in thresholds:
            raise InvalidInput("choose how the protocol is protected, and a frequency threshold, from the lists")
        there = can_have_threshold(kind, float(confidence) if confidence else None)
        return cls(epsilons[private], thresholds[at_least] if there else 0, insist)


class Counts:
    """The counts of some columns of a table: the exact ones, and those that protocols are computed from.

    Noise is drawn once for each ε₀: fresh noise for every look would tell more if several protocols were published, and
    what different promises keep could not be compared.
    """

    def __init__(
        self, exact: Counted, wishes: Wishes | None = None, said: Mapping[str, str] | None = None, spent: float = 0.0
    ) -> None:
        self.exact = exact
        self.said = said or {}
        """What the controls of the table and its columns said, by their keys."""
        self.spent = spent
        """Of ε₀, by the choice of how coarse columns are."""
        self.steward = ForSteward(exact)
        """For figures on exact counts, on which nothing depends."""
        self.wishes = Wishes() if wishes is None else wishes
        """How columns were to be cut."""
        self.fineness = self.steward.told(lambda counted: fineness(counted.joint))
        """Whether there are too many combinations of values for the people."""
        self._noisy: dict[tuple[float, float | None], Counted] = {}
        self._used: dict[Protection, Counted] = {}
        self._one_at_a_time = threading.Lock()  # searches and curves run in threads

    def used(self, protection: Protection) -> Counted:
        """The counts that a protocol is computed from."""
        if protection in self._used:  # whoever looks need not wait while others are made
            return self._used[protection]
        with self._one_at_a_time:
            if protection not in self._used:
                self._used[protection] = self._made(protection)
            return self._used[protection]

    def _made(self, protection: Protection) -> Counted:
        epsilon, least, delta = protection.private, protection.at_least, protection.delta
        if epsilon is None:
            return self.exact.safely(None, at_least=least if least > 1 else 0, insist=protection.insist)
        if (epsilon, delta) not in self._noisy:
            left = epsilon - self.spent
            self._noisy[epsilon, delta] = self.exact.safely(left, delta=delta, choosing=self.spent, insist=True)
        usual = usual_where_any(self.exact.joint.combinations)
        return self._noisy[epsilon, delta].at_threshold(usual if least == 1 else least, protection.insist)
