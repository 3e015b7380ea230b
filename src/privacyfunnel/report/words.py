"""Sentences for people: what a promise means for them, and what it does not say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privacyfunnel.attacks.bayes import Attacker
from privacyfunnel.attacks.findings import NOISE, best_words
from privacyfunnel.distribution.similarity import ORDERED_KINDS
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import factor
from privacyfunnel.proof.invariance import MARGINAL_ERROR
from privacyfunnel.protocols.everything import uncovered_words
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.readers import points
from privacyfunnel.report.account import Account
from privacyfunnel.report.measured import MISSING, Belief

COMMON = 0.01
"""An example speaks of the rarest value of the secret that is not rarer than this."""
EXAMPLE_PRIOR = 0.1
"""What a public page takes for an example, since it may not tell the real shares."""

PEOPLE_COUNTED = "The people counted."
LIMITS = (
    (
        "One release.",
        "The promise is about this release alone. The same people released again with fresh randomness tell more.",
    ),
    (
        "The whole picture stays.",
        "The release tells how the columns and the secret go together in general, and is meant to. The promise limits "
        "what a row adds about its own person.",
    ),
    (
        PEOPLE_COUNTED,
        "The promise is about the distribution in the table that the protocol was made from. In a small table rare "
        "values are known badly, and the population's distribution may differ.",
    ),
    (
        "Rows by themselves.",
        "Every row is changed by itself. If the rows of two people depend on each other (twins, a person listed "
        "twice), one row tells of the other, too.",
    ),
    (
        "These columns only.",
        "The promise speaks of the released columns. What is published elsewhere about the same people is not counted "
        "in, except for the attackers named under side channels.",
    ),
)


PUBLISHED_COUNTS = (
    "The published counts.",
    "The promise about a row is about the distribution that the published counts give. Somebody who "
    "knows better, from the exact counts or from everybody else's record, may learn more from a row, and no level here "
    "bounds that unless they know all other columns of the person.",
)


def _usual_limits(private: bool) -> list[tuple[str, str]]:
    """What no guarantee covers; that of a private fit is about other counts."""
    return [PUBLISHED_COUNTS if private and title == PEOPLE_COUNTED else (title, text) for title, text in LIMITS]


FITTED_ON_PEOPLE = (
    "It was fitted on exact counts. What its numbers tell about people whose combination of values few others have is "
    "not part of the promise."
)


def limit_words(account: Account) -> list[tuple[str, str]]:
    """What the guarantee does not cover, with what the protocol file gives away."""
    usual = _usual_limits(private=account.private)
    if account.protocol.fitted != "exact counts":
        return usual
    exposed = account.measured.exposed if account.measured is not None else None
    return [*usual, ("The protocol file.", exposed.words() if exposed is not None else FITTED_ON_PEOPLE)]


def level_pairs(account: Account) -> list[tuple[str, str]]:
    """The two levels beside each other: what one row tells, and what everything published tells."""
    told, promise = account.everything, account.protocol.notion
    if told is None:
        return []
    exposed = account.measured.exposed if account.measured is not None else None
    people = f" {exposed.words()}" if exposed is not None and exposed.few else ""
    if account.measured is not None:
        people = " ".join([people, uncovered_words(account.protocol.noise, account.measured.joint.secret_values)])
    row = f"×{factor(promise.epsilon)} (e^ε) is {change_words(promise.limits)} by it."
    if not promise.simple:
        row = f"{promise.in_short()[0].upper()}{promise.in_short()[1:]}."
    return [("One row", f"{row} {told.whom()}"), ("Everything published", f"{told.words()}{people.rstrip()}")]


WHO_CHECKS = (
    "Whoever may see the original table can check the promise with funnel audit. No protocol is made that did not pass."
)
CHECKED_BY_ANYBODY = (
    "The file of the protocol carries counts of people with noise on each. The verdict follows from these counts "
    "alone, and funnel audit shows it to anybody who has the file."
)
LINKING = (
    "A release that is made to be counted leaves more rows as they were, so that rows are easier to link to people. "
    "The promise does not lean on rows being unlinkable: it holds against those who know whose row it is."
)
FREQUENCY_THRESHOLD = (
    "Frequency threshold: no value in the protocol stands for fewer than {people} people; combinations that fewer have "
    "are read as the nearest other. This is no cure for class disclosure (groups that all share one secret): the "
    "promise is."
)
ON_EXACT_COUNTS = (
    "For you alone: on the exact counts of this table {kept} of the information is kept. The charts below are measured "
    "on these counts, too, and are not for publication."
)


def threshold_words(account: Account) -> str | None:
    """What a frequency threshold did, if there is one; without the counts, that there is one."""
    if not account.merges:
        return None
    if account.threshold is not None:
        return account.threshold.words()
    return FREQUENCY_THRESHOLD.format(people=account.protocol.at_least)


def exact_words(account: Account) -> str | None:
    """Which columns are released as they are, if any are."""
    names = account.protocol.step.exact
    return f"Released exactly as they are: {', '.join(names)}." if names else None


def aside_words(account: Account) -> str | None:
    """Of a private fit with its table: that what follows is not what the promise is about."""
    measured = account.measured
    if measured is None or not measured.aside:
        return None
    return ON_EXACT_COUNTS.format(kept=percent(measured.findings.kept_share))


def again_words(account: Account) -> str:
    """What cannot be made again."""
    text = "The release itself is drawn with the operating system's randomness and cannot be drawn again."
    if not account.private:
        return text
    return (
        "The noise of a private fit is drawn afresh, so that these commands make another protocol, not this one digit "
        f"by digit. Fitting again and publishing both costs ε₀ twice: publish one. {text}"
    )


def points_off(share: float) -> str:
    """How far off an expected share is, in points; what only the last digits of a channel can tell is nothing."""
    return points(share) if share > MARGINAL_ERROR else "0"


def marginal_words(error: float) -> str:
    """How far the distribution of released rows is from the original's, and what that means."""
    if error <= MARGINAL_ERROR:
        return f"no combination of values is more or less likely by more than {error:.2g} (promised: 2⁻³⁰)"
    return f"this is not the table it was fitted on: a combination of values is off by {percent(error)}"


def percent(share: float) -> str:
    """A share for people; what is not quite all or nothing is not called so."""
    if share in (0, 1):
        return f"{share:.0%}"
    for digits in (1, 2, 3):
        text = f"{share:.{digits}%}"
        if float(text[:-1]) not in (0, 100):
            return text
    return "<0.001%" if share < 0.5 else ">99.999%"


def example(beliefs: Sequence[Belief]) -> Belief:
    """The value of the secret to speak of: the rarest that is not very rare, and not "missing" where others are."""
    common = [belief for belief in beliefs if belief.prior >= COMMON] or beliefs
    known = [belief for belief in common if MISSING not in belief.secret]
    return min(known or common, key=lambda belief: belief.prior)


def example_words(secret: str, belief: Belief) -> str:
    """What the promise means for one value of the secret."""
    return (
        f"For example: {percent(belief.prior)} of the people have {secret} = {belief.secret}, so that is the estimate "
        "of somebody who knows nothing else of a person. After seeing a released row, this estimate "
        f"{_within(belief.prior, belief.lowest, belief.highest)}."
    )


def public_example_words(limits: Limits) -> str:
    """The same for a made-up share, which tells nothing of the table."""
    lowest, highest = limits.granted().belief_range(EXAMPLE_PRIOR)
    return (
        f"For example, if {percent(EXAMPLE_PRIOR)} of the people had a certain value of the secret, that is the "
        "estimate of somebody who knows nothing else of a person. After seeing a released row, this estimate "
        f"{_within(EXAMPLE_PRIOR, lowest, highest)}."
    )


def _within(prior: float, lowest: float, highest: float) -> str:
    change = math.log(highest / prior)
    if lowest > 0:
        change = max(change, math.log(prior / lowest))
        return f"changes by at most ×{factor(change)}: it stays between {percent(lowest)} and {percent(highest)}"
    return f"grows by at most ×{factor(change)}, to {percent(highest)}; it may fall to nothing"


def change_words(limits: Limits) -> str:
    """What e^ε bounds, in few words."""
    falls = math.isfinite(limits.lower) or math.isfinite(limits.spread)
    return "the most a belief may change" if falls else "the most a belief may grow"


def kept_words(account: Account) -> str:
    """How much is kept, and how much anybody could."""
    protocol, about = account.protocol, account.public or account.measured
    kept = about.findings.kept_bits if about is not None else protocol.utility / math.log(2)
    most = about.findings.entropy_bits if about is not None else protocol.entropy / math.log(2)
    by = "By the published counts: " if account.public is not None else ""
    read = ", as rows are read," if account.merges else ""
    text = (
        f"{percent(account.kept_share)} of the information in the released columns{read} is kept "
        f"({kept:.3f} of {most:.3f} bits for each row)."
    )
    if protocol.likeness is not None:
        return f"{by}{unchanged_words(account, protocol.likeness)} {text}"
    best = best_words(account.kept_share, account.gap_share)
    return f"{by}{text} {best[0].upper()}{best[1:]}."


def unchanged_words(account: Account, likeness: Likeness) -> str:
    """How many cells stay as they are, and how many could."""
    text = (
        f"{percent(account.cells_unchanged or 0.0)} of all cells stay as they are, and "
        f"{percent(likeness.rows_unchanged)} of all rows entirely."
    )
    kept = math.floor(likeness.fidelity * 1000) / 1000
    most = min(1.0, math.ceil(likeness.fidelity_bound * 1000 - NOISE) / 1000)
    ordered = any(encoder.kind in ORDERED_KINDS for encoder in account.encoders)
    counted = ["near values of ordered columns counted in part"] if ordered else []
    counted += ["rare combinations as they are read"] if account.merges else []
    counted += [f"cells of {name} counted {weight:g} times" for name, weight in likeness.weights]
    if not counted:
        return f"{text} No release with this promise whose rows can be counted leaves more than {most:.1%} of cells."
    return (
        f"{text} With {', '.join(counted)}, the fidelity is {kept:.1%}; no release with this promise whose rows can "
        f"be counted has more than {most:.1%}."
    )


MOST_ATTACKERS = 16
"""Attackers that a page lists: those who know one column or none, and of the others those who learn most."""


def shown_attackers(attackers: Sequence[Attacker]) -> list[Attacker]:
    """Attackers worth a line each, in order of what they know."""
    simple = [attacker for attacker in attackers if len(attacker.known) <= 1][:MOST_ATTACKERS]
    others = sorted((a for a in attackers if len(a.known) > 1), key=lambda a: -a.level)[: MOST_ATTACKERS - len(simple)]
    return [*simple, *sorted(others, key=lambda a: len(a.known))]


def known_words(attacker: Attacker) -> str:
    """What an attacker knows beforehand."""
    return ", ".join(attacker.known) or "nothing"


def within_words(within: bool, *, aside: bool) -> str:
    """Whether a promise is kept; or, on counts that it is not about, whether its factor is."""
    if aside:
        return "not exceeded" if within else "exceeded"
    return "kept" if within else "BROKEN"


def promised_words(attacker: Attacker) -> str:
    """Whether the promise is made to an attacker, and whether it is kept."""
    if attacker.promised:
        return within_words(attacker.within, aside=False)
    return "no" if attacker.within else "no, and more is learned"


def level_words(level: float) -> str:
    """A level as a factor."""
    return f"×{factor(level)}" if math.isfinite(level) else "without limit"


def side_channel_words(attackers: Sequence[Attacker], *, public: bool) -> str:
    """Whether those who know something beforehand learn more than was promised to others, and what may be done."""
    if all(attacker.within for attacker in attackers):
        return "None of these attackers learns more than the promise allows, whether it was made to them or not."
    text = (
        "Mind the lines that are marked: somebody who already knows these columns may learn more about the secret "
        "than the promise says, because the promise of this protocol is not made to them."
    )
    return text if public else f"{text} If such attackers matter, choose a promise for side channels (srlip or srldp)."
