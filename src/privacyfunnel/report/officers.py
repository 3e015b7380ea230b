"""The part of a report for data-protection officers, in the words of the European guidance (WP216)."""

from __future__ import annotations

import math

from privacyfunnel.promises.notion import factor
from privacyfunnel.report.account import Account
from privacyfunnel.report.html import definitions, paragraph
from privacyfunnel.report.three_risks import ThreeRisks, three_risks
from privacyfunnel.report.words import percent

INTRODUCTION = (
    "The Article 29 Working Party's Opinion 05/2014 on anonymisation techniques (WP216) asks three questions of a "
    "release: is it still possible to single out an individual, to link records relating to an individual, and to "
    "infer information concerning an individual? Here is what this release does about each, what it does not, and our "
    "figures."
)
FROM_FILE = "They follow from the published protocol alone."
FROM_TABLE = "Shares of cells, and of guesses where the fit was exact, are those of this table: keep them inside."
SINGLING_OUT = "Singling out: isolating some or all records which identify an individual"
LINKABILITY = "Linkability: linking two records concerning the same data subject"
INFERENCE = "Inference: deducing the value of an attribute from the values of others"
CONCLUSION = (
    "Singling out and linkability are not excluded. WP216 asks for a thorough evaluation of the identification risks "
    "wherever one of the three is not met: this page has figures for it, and does not replace it. Whether the release "
    "is anonymous in the sense of recital 26 of the GDPR is for the controller to decide."
)
RARE = 0.5
"""Rows: a combination that is expected this seldom may well not occur at all."""


def officers_part(account: Account) -> str:
    """The three risks, and what is not promised."""
    found, secret = three_risks(account), account.protocol.secret
    risks = [
        (SINGLING_OUT, _singling_out(found)),
        (LINKABILITY, _linkability(found)),
        (INFERENCE, _inference(account, found)),
    ]
    return (
        paragraph(f"{INTRODUCTION} {FROM_FILE if account.measured is None else FROM_TABLE}")
        + definitions(risks)
        + "<h3>What we do not promise</h3>"
        + definitions(not_promised(account, secret))
        + paragraph(CONCLUSION)
    )


def _singling_out(found: ThreeRisks) -> str:
    text = (
        "Not prevented. One row is released for each original row, so that somebody who knows that a person is in the "
        "table, and what their released columns are, may find a row that fits."
    )
    if found.alone is not None and found.rarest is not None:
        seldom = "less than one row" if found.rarest < RARE else f"about {found.rarest:,.0f} rows"
        text += (
            f" Expected: {percent(found.alone)} of released rows have values that no other released row has; the "
            f"rarest combination of values that is released has {seldom}."
        )
    if found.alone_and_own is not None:
        text += (
            f" {percent(found.alone_and_own)} of rows are alone and have the values of their own person (as these are "
            "read: in ranges, rare combinations as others)."
        )
    return f"{text} What such a row then tells about the secret is limited: see inference."


def _linkability(found: ThreeRisks) -> str:
    text = (
        "Not prevented. Within this table there are no two rows of one person unless the original table has them, and "
        "each is drawn by itself. Cells that stay as they are can be matched with other tables of the same people."
    )
    if found.rows_unchanged is not None:
        text += f" {percent(found.rows_unchanged)} of rows are released with every cell as it was"
        shares = [share for _, share in found.cells_unchanged]
        most = f"; of single columns, {percent(min(shares))} to {percent(max(shares))} of cells" if shares else ""
        text += f"{most}."
    return (
        f"{text} The promise about the secret does not lean on rows being unlinkable: it holds against those who know "
        "whose row it is."
    )


def _inference(account: Account, found: ThreeRisks) -> str:
    secret, falls = account.protocol.secret, _falls(account)
    moves = "changes" if falls else "raises"
    text = (
        f"Limited for {secret}, which is not released. In the cases that the promise names above, a released row "
        f"{moves} a belief about it by at most a factor {factor(found.one_row)}"
    )
    if found.everything is not None:
        text += f", and everything that is published by at most a factor {factor(found.everything)}"
    text += "."
    if found.guess_before is not None and found.guess_after is not None:
        text += (
            f" The best guess of {secret} is right for {percent(found.guess_before)} of the people without the "
            f"release, and for {percent(found.guess_after)} with a released row."
        )
    if found.one_column is not None:
        much = f"by a factor {factor(found.one_column)}" if math.isfinite(found.one_column) else "without limit"
        text += f" The belief of somebody who knows one column of a person beforehand may move {much}."
    return f"{text} Not limited for the released columns: a cell may be what it was."


def _falls(account: Account) -> bool:
    told = account.everything
    return told.falls if told is not None else True


def not_promised(account: Account, secret: str) -> list[tuple[str, str]]:
    """What an officer should not read into the figures."""
    told = account.everything
    listed = [
        (
            "Membership.",
            "Who is in the table is not hidden: rows are released one for one, and their number is exact.",
        ),
        ("The released columns.", f"They are not protected as {secret} is: a cell may be what it was."),
        (
            "Several releases.",
            "What is promised is about this one. The same people released again, drawn afresh, tell more.",
        ),
        (
            "Groups.",
            f"How {secret} goes with the other columns in general can be learned, and is meant to be.",
        ),
        (
            "Rows that depend on each other.",
            "Families, or a person with several rows: one row tells of the others, too.",
        ),
        (
            "Other people's tables.",
            "What is known from elsewhere about the same people is not counted in, but for the attackers under side "
            "channels.",
        ),
    ]
    if told is not None and told.fit is None:
        listed.append(
            ("The protocol file.", "It was fitted on exact counts, and is not for publication: it tells secrets.")
        )
    elif told is not None and not told.declared:
        listed.append(
            (
                "Lists of values and ranges.",
                "They were read from the table: a value that only one person has is visible.",
            )
        )
    if told is not None and told.faint:
        listed.append(("Rare values of the secret.", told.faint_words()))
    return listed
