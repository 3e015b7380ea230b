"""How sharply readers will know each column, before anything is released."""

from __future__ import annotations

from statistics import median

from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.estimates.expected import ExpectedError, ExpectedErrors, expected_errors
from privacyfunnel.protocols.readers import points
from privacyfunnel.report.account import Account
from privacyfunnel.report.html import paragraph, table

MOST_COMBINATIONS = 1_500
"""Values of X for which errors of estimates take seconds."""
HEADINGS = ("column", "in the original table", "counted as they stand", "estimated, whatever the table")


def knowing_part(shown: Account) -> str:
    """A table of the typical standard error of a share in each column, or why there is none."""
    about = shown.public or shown.measured
    if about is None:
        return ""
    if about.joint.n_x > MOST_COMBINATIONS:
        return paragraph(f"Not computed for {about.joint.n_x:,} combinations of values: it would take long.")
    try:
        return _table(expected_errors(shown.protocol, about.joint))
    except PrivacyFunnelError as reason:
        return paragraph(f"Not computed: {reason}.")


def _table(found: ExpectedErrors) -> str:
    by_column: dict[str, list[ExpectedError]] = {}
    for each in found.shares:
        by_column.setdefault(each.attributes[0], []).append(each)
    words = (
        "Standard errors of the share of a value, in percentage points, and as a multiple of the original table's own: "
        "the median over the values of each column. Rows that the protocol was fitted on can be counted as they stand "
        "if the release is faithful; estimates are for rows of any other table. Noise of a private fit comes on top."
    )
    rows = [_row(name, shares) for name, shares in by_column.items()]
    return table("How sharply readers will know each column", HEADINGS, rows) + paragraph(words, "muted")


def _row(name: str, shares: list[ExpectedError]) -> list[str]:
    original = median(each.original for each in shares)
    counted = median(each.counted for each in shares), median(each.counted_times for each in shares)
    told = [each for each in shares if each.estimated is not None]
    estimated = "not told"
    if 2 * len(told) > len(shares):
        estimated = _cell(median(e.estimated or 0.0 for e in told), median(e.estimated_times for e in told))
    if len(told) < len(shares):
        estimated += f" ({len(shares) - len(told)} of {len(shares)} values not told)"
    return [name, f"± {points(original)}", _cell(*counted), estimated]


def _cell(error: float, times: float) -> str:
    return f"± {points(error)} (×{times:.2g})"
