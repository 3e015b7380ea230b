"""More of a promise on the page: limits on belief, a second secret, levels for values, borders, exact columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from htmltools import Tag, tags
from shiny import ui

from privacyfunnel.promises.belief import Belief
from privacyfunnel.studio.others import Page, others_part
from privacyfunnel.studio.reopening import Start

SECOND_LABEL = "A second secret, with a promise of its own"
SECOND_EPSILON_LABEL = "ε of the second secret"
LEVELS_LABEL = "A level for each value of the secret, instead of ε (such as: yes=0.1, no=1)"
ORDERED_LABEL = "The secret is a number: promise on which side of a border it lies"
PER_RANGE_LABEL = "And single values of the number within this ε (left empty: nothing more is promised of them)"
BELIEFS_LABEL = "The most that anybody may believe of values of the secret (such as: yes=0.2)"
BELIEFS_NOTE = (
    "Whoever sees a released row gives these values at most this probability; ε is not used. Each limit must be above "
    "the value's own share, which a release tells anyway."
)
NO_BELIEFS = f"say “{BELIEFS_LABEL}”: each limit is a number between 0 and 1"
EXACT_LABEL = "Columns that stay exactly as they are"
NO_WISH = (
    "the smallest ε is found for one promise with one ε: choose another kind than limits on belief, one secret, and "
    "nothing under “More about this promise”"
)


@dataclass(frozen=True)
class More:
    """What is chosen beside a kind of promise and its ε."""

    second: str = ""
    """Another secret."""
    second_epsilon: float | None = None
    levels: str = ""
    ordered: bool = False
    exact: tuple[str, ...] = ()
    per_range: float | None = None
    """With `ordered`: the ε of single values."""
    beliefs: str | None = None
    """Limits on belief as typed, where that is the kind of promise."""
    others: tuple[tuple[str, str], ...] = ()
    """All other keys, as typed."""


def more_on(page: Page, secrets: Sequence[str], attributes: Sequence[str], further: Mapping[str, str]) -> More:
    """What is chosen beside a kind of promise and its ε; `further` are the keys whose controls follow from a field."""
    second = secrets[1] if len(secrets) > 1 else ""
    beliefs = str(page["beliefs"]()).strip() if "beliefs" in page else ""
    limited = beliefs if page["notion"]() == Belief.name else None
    if "levels" not in page:  # the step is not there yet
        return More(second, beliefs=limited)
    per_range = page["per_range"]()
    return More(
        second,
        page["second_epsilon"]() if "second_epsilon" in page and second else None,
        str(page["levels"]()).strip(),
        bool(page["ordered"]()),
        tuple(name for name in attributes if name in page["exact"]()),
        per_range if isinstance(per_range, int | float) and page["ordered"]() else None,
        limited,
        tuple(further.items()),
    )


def beliefs_part(start: Start | None) -> Tag:
    """For limits on belief: which."""
    typed = start.beliefs if start is not None else ""
    return tags.div(
        ui.input_text("beliefs", BELIEFS_LABEL, typed, width="100%", update_on="blur"),
        tags.p(BELIEFS_NOTE, class_="meta"),
    )


def second_part(columns: Sequence[str], start: Start | None) -> Tag:
    """Choose another secret, in the step of the columns."""
    choices = {"": "none", **{name: name for name in columns}}
    chosen = start.second if start is not None else ""
    return ui.input_select("second", SECOND_LABEL, choices, selected=chosen, width="100%")


def more_part(attributes: Sequence[str], second: str, start: Start | None) -> Tag:
    """A fold for what few people need, open if something in it is chosen."""
    now = start if start is not None else Start("", None)
    epsilon = [ui.input_numeric("second_epsilon", SECOND_EPSILON_LABEL, now.second_epsilon, min=0, max=64, step=0.05)]
    opened: dict[str, Any] = {"open": ""} if second or now.levels or now.ordered or now.exact or now.others else {}
    return tags.details(
        opened,
        tags.summary("More about this promise"),
        *(epsilon if second else []),
        ui.input_text("levels", LEVELS_LABEL, now.levels, width="100%", update_on="blur"),
        ui.input_checkbox("ordered", ORDERED_LABEL, now.ordered, width="100%"),
        ui.input_numeric(
            "per_range", PER_RANGE_LABEL, cast(float, now.per_range), min=0, max=64, step=0.05, width="100%"
        ),
        ui.input_checkbox_group("exact", EXACT_LABEL, list(attributes), selected=list(now.exact)),
        others_part("promise", now.others),
    )
