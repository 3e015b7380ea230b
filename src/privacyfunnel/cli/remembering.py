"""What is said of people who are released again."""

from __future__ import annotations

from privacyfunnel.tables.remembered.memory import Remembered

BECAME = {"keep": "they keep their old row", "drop": "they were left out"}
"""What became of people whose values changed."""


def _followed(found: Remembered) -> str:
    """People who were released by the protocol that today's follows."""
    if found.stay is None:
        return f", {found.followed:,} followed up" if found.followed else ""
    stay = found.stay
    same = f"{stay.unchanged:,} unchanged ({stay.unchanged_kept:,} keep their row)"
    drawn = f"{stay.changed - stay.changed_kept:,} are followed up, {stay.changed_kept:,} keep their row, too"
    return f", {same}, {stay.changed:,} changed ({drawn})"


def words(found: Remembered) -> list[str]:
    """Who was released, and what everything that was released of them comes to."""
    again = (
        f", {found.again - found.followed:,} released by other protocols before" if found.again > found.followed else ""
    )
    again += _followed(found)
    became = f" ({BECAME[found.changed_were]})" if found.changed else ""
    gone = found.left if found.gone is None else found.gone
    left = ", whose old row stays out in the world" if gone else ""
    rows = f", {found.unchanged:,} unchanged, who keep their row, {found.changed:,} changed{became}"
    if found.stay is not None and not found.unchanged + found.changed:
        rows = ""  # nobody has a row of this follow-up yet
    lines = [f"People: {found.new:,} new{again}{rows}, {gone:,} {'left' if found.gone is None else 'gone'}{left}."]
    if found.follows and found.new:
        lines.append("New people took the earlier steps as well, which are not in this table, and count as told.")
    if found.new_key:
        lines.append("A new key was made: back it up together with its ledger, and let nobody have it.")
    if found.told_anew:
        of = f", of {found.limit:g} that the ledger allows" if found.limit is not None else ""
        level = f"{found.kind} level {found.level:.4g}{of}"
        told = f"Of {found.told_anew:,} people something new is told, and all that was ever released of them keeps"
        return [*lines, f"{told} {level}. Ledger: {found.ledger}."]
    return [*lines, f"Nothing new is told of anybody. Ledger: {found.ledger}."]
