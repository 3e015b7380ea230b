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
from privacyfunnel.protocols.protocol import Likeness
from privacyfunnel.protocols.readers import points
from privacyfunnel.report.account import MISSING, Account, Belief

COMMON = 0.01
"""An example speaks of the rarest value of the secret that is not rarer than this."""
EXAMPLE_PRIOR = 0.1
"""What a public page takes for an example, since it may not tell the real shares."""

LIMITS_OF_THE_GUARANTEE = (
    (
        "One release.",
        "Releasing the same people twice with fresh randomness tells more than once. Make and publish one.",
    ),
    (
        "The whole picture stays.",
        "The release tells how the columns and the secret go together in general, and is meant to. The promise limits "
        "what a row adds about its own person.",
    ),
    (
        "The people counted.",
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


FITTED_ON_PEOPLE = (
    "It was fitted on exact counts. What its numbers tell about people whose combination of values few others have is "
    "not part of the promise."
)


def limit_words(account: Account) -> list[tuple[str, str]]:
    """What the guarantee does not cover, with what the protocol file gives away."""
    if account.protocol.fitted != "exact counts":
        return list(LIMITS_OF_THE_GUARANTEE)
    exposed = account.measured.exposed if account.measured is not None else None
    text = exposed.words() if exposed is not None else FITTED_ON_PEOPLE
    return [*LIMITS_OF_THE_GUARANTEE, ("The protocol file.", text)]


COUNTABLE = (
    "Released rows are random draws with the distribution of the original rows{blocks}. Count them as they stand: "
    "every share, table and model of them is right on average. Errors that are reckoned as if they were the original "
    "rows are too small, by a factor of √2 at most."
)
LEANING = (
    "Released rows are random draws, made to be counted as they stand where the rows are those that the protocol was "
    "fitted on. The rows at hand are others, and counts lean towards the fitted ones: shares of single values are off "
    "by up to {points} points on average. funnel estimate undoes that, with intervals."
)
MISCOUNTED = (
    "Released rows are random draws. Counting them does not give the original shares{off}; funnel estimate does, with "
    "intervals, from the released table and the protocol."
)


def how_to_count(account: Account) -> str:
    """Whether released rows can be counted as they stand, and how far off counts are."""
    worst = max((a.miscounted for a in account.attributes if a.miscounted is not None), default=None)
    if account.countable:
        errors = account.measured.errors if account.measured is not None else None
        near = f" By drawing alone, {errors.words()}." if errors is not None else ""
        several = len(account.protocol.blocks) > 1
        return COUNTABLE.format(blocks=", block by block" if several else ", all columns together") + near
    if account.objective == "faithful":
        return LEANING.format(points=points(worst or 0.0))
    return MISCOUNTED.format(off=f" (single ones are off by up to {points(worst)} points)" if worst else "")


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
        f"For example: {percent(belief.prior)} of the people have {secret} = {belief.secret}, so that is anybody's "
        f"estimate for somebody they know nothing of. After seeing a released row, nobody's estimate of that person "
        f"having {secret} = {belief.secret} {_within(belief.prior, belief.lowest, belief.highest)}."
    )


def public_example_words(limits: Limits) -> str:
    """The same for a made-up share, which tells nothing of the table."""
    lowest, highest = limits.granted().belief_range(EXAMPLE_PRIOR)
    return (
        f"For example, if {percent(EXAMPLE_PRIOR)} of the people had a certain value of the secret: after seeing a "
        f"released row, nobody's estimate of that person having it {_within(EXAMPLE_PRIOR, lowest, highest)}."
    )


def _within(prior: float, lowest: float, highest: float) -> str:
    change = math.log(highest / prior)
    if lowest > 0:
        change = max(change, math.log(prior / lowest))
        return f"changes by more than ×{factor(change)}: it stays between {percent(lowest)} and {percent(highest)}"
    return f"grows by more than ×{factor(change)}, to {percent(highest)}; it may fall to nothing"


def change_words(limits: Limits) -> str:
    """What e^ε bounds, in few words."""
    falls = math.isfinite(limits.lower) or math.isfinite(limits.spread)
    return "the most a belief may change" if falls else "the most a belief may grow"


def kept_words(account: Account) -> str:
    """How much is kept, and how much anybody could."""
    protocol, measured = account.protocol, account.measured
    kept = measured.findings.kept_bits if measured is not None else protocol.utility / math.log(2)
    most = measured.findings.entropy_bits if measured is not None else protocol.entropy / math.log(2)
    text = (
        f"{percent(account.kept_share)} of the information in the released columns is kept "
        f"({kept:.3f} of {most:.3f} bits for each row)."
    )
    if protocol.likeness is not None:
        return f"{unchanged_words(account, protocol.likeness)} {text}"
    best = best_words(account.kept_share, account.gap_share)
    return f"{text} {best[0].upper()}{best[1:]}."


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
    counted += [f"cells of {name} counted {weight:g} times" for name, weight in likeness.weights]
    if not counted:
        return f"{text} No release with this promise whose rows can be counted leaves more than {most:.1%} of cells."
    return (
        f"{text} With {' and '.join(counted)}, the fidelity is {kept:.1%}; no release with this promise whose rows can "
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


def promised_words(attacker: Attacker) -> str:
    """Whether the promise is made to an attacker, and whether it is kept."""
    if attacker.promised:
        return "kept" if attacker.within else "BROKEN"
    return "no" if attacker.within else "no, and more is learned"


def level_words(level: float) -> str:
    """A level as a factor."""
    return f"×{factor(level)}" if math.isfinite(level) else "without limit"


def side_channel_words(attackers: Sequence[Attacker]) -> str:
    """Whether those who know something beforehand learn more than was promised to others."""
    if all(attacker.within for attacker in attackers):
        return "None of these attackers learns more than the promise allows, whether it was made to them or not."
    return (
        "Mind the lines that are marked: somebody who already knows these columns may learn more about the secret "
        "than the promise says, because the promise of this protocol is not made to them. If such attackers matter, "
        "choose a promise for side channels (srlip or srldp)."
    )
