"""How released rows are counted, for people: whether they can be used as they stand, and how far off counts are."""

from __future__ import annotations

from privacyfunnel.protocols.readers import points
from privacyfunnel.protocols.step import Kind
from privacyfunnel.report.account import Account
from privacyfunnel.tables.release_note import OTHERS

COUNTABLE = (
    "Released rows are random draws with the distribution of the original rows, all columns together. Use them like "
    "the original ones: every share, table and model of them is right on average. Standard errors computed as if these "
    "were the original rows are too small, by a factor of √2 at most."
)
COUNTABLE_BUT_FOR_NOISE = (
    "Released rows are random draws. Use them like the original ones: on average they have the shares that the "
    "published counts give, which are those of the table up to noise and rare combinations that are read as "
    "others. Standard errors computed as if these were the original rows leave out both, and the drawing."
)
COUNTABLE_BUT_FOR_RARE = (
    "Released rows are random draws. Use them like the original ones: on average they have the shares of the table but "
    "for rare combinations, which are read as others.{points}"
)
OFF_BY = " Shares of single values are off by up to {} points on average by that."
LEANING = (
    "Released rows are random draws, made to be counted as they stand where the rows are those that the protocol was "
    "fitted on. The rows at hand are others, and counts lean towards the fitted ones: shares of single values are off "
    "by up to {points} points on average; " + OTHERS + "."
)
MISCOUNTED = "Released rows are random draws. Counting them does not give the original shares{off}; " + OTHERS + "."


PRIVATELY: dict[Kind, str] = {
    "channel": COUNTABLE_BUT_FOR_NOISE,
    "by_history": COUNTABLE_BUT_FOR_NOISE,
    "by_model": (
        "Released rows are random draws. Use them like the original ones, if they are of the table that the protocol "
        "was fitted on: they lean a little towards the published model, which holds single columns and pairs of them "
        "up to noise. Standard errors computed as if these were the original rows leave out both, and the drawing."
    ),
}
"""How rows of a private fit are counted that are made for it, by the step that draws them."""


def how_to_count(account: Account) -> str:
    """Whether released rows can be counted as they stand, and how far off counts are."""
    worst = max((a.miscounted for a in account.attributes if a.miscounted is not None), default=None)
    if account.private:
        return _how_to_count_privately(account, worst)
    if account.countable:
        errors = account.measured.errors if account.measured is not None else None
        near = f" By drawing alone, {errors.words()}." if errors is not None else ""
        return COUNTABLE + near
    if account.objective == "faithful" and account.merges:
        return COUNTABLE_BUT_FOR_RARE.format(points=OFF_BY.format(points(worst)) if worst is not None else "")
    if account.objective == "faithful":
        return LEANING.format(points=points(worst or 0.0))
    return MISCOUNTED.format(off=f" (single ones are off by up to {points(worst)} points)" if worst else "")


def _how_to_count_privately(account: Account, worst: float | None) -> str:
    """The same for a private fit; how far the exact shares are off is for the table's owner."""
    text = PRIVATELY[account.protocol.step.kind] if account.objective == "faithful" else MISCOUNTED.format(off="")
    if worst is None:
        return text
    return f"{text} For you alone: in this table, single shares are off by up to {points(worst)} points on average."
