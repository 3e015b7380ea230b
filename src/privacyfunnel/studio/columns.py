"""The step of the studio in which the secret and the columns to release are chosen, and how each is cut."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from htmltools import Tag, tags
from shiny import ui

from privacyfunnel.distribution.raw import Kind
from privacyfunnel.studio.actions import Opened
from privacyfunnel.studio.more import second_part
from privacyfunnel.studio.others import others_part
from privacyfunnel.studio.page import section
from privacyfunnel.studio.protecting import Counts
from privacyfunnel.studio.wishing import AUTOMATIC, BINS, DATES, EACH, TOP, Cut
from privacyfunnel.tables.suggesting import Suggestion

CUTS: dict[str, str] = {
    AUTOMATIC: "automatic",
    BINS: "in ranges: how many, or borders",
    EACH: "each number",
    TOP: "the most frequent: how many",
    **{by: f"by {by}" for by in DATES},
}
"""How a column can be cut, in words."""
CUTS_OF: Mapping[Kind, tuple[str, ...]] = {
    "bins": (AUTOMATIC, BINS, EACH),
    "integer": (AUTOMATIC, BINS, EACH),
    "number": (AUTOMATIC, BINS, EACH),
    "text": (AUTOMATIC, TOP),
    "year": (AUTOMATIC, *DATES),
    "month": (AUTOMATIC, *DATES),
    "day": (AUTOMATIC, *DATES),
}
"""What can be chosen for a column of a kind; for the others nothing can."""
OPTIONS = (
    (re.compile(r"--set bins='?([^=']+)'?=(\d+)"), r"\2 ranges of \1"),
    (re.compile(r"--set top='?([^=']+)'?=(\d+)"), r"the \2 most frequent values of \1"),
    (re.compile(r" \((?:bins|top)\)"), ""),
)
"""Options of the command line, and what they are called on the page."""


def columns_step(opened: Opened) -> Tag:
    """Choose the secret and what to release; one table for all, with a suggestion for each column."""
    heads = [tags.th(text, scope="col") for text in ("column", "secret", "release", "values", "cut")]
    cuts = opened.start.cuts if opened.start is not None else {}
    rows = [_row(i, column, cuts.get(column.column, (AUTOMATIC, ""))) for i, column in enumerate(opened.columns)]
    table = tags.table(tags.thead(tags.tr(*heads)), tags.tbody(*rows), class_="columns")
    return section(
        "columns-step",
        "2. The secret and the columns to release",
        tags.p("The marks are suggestions. Leave out what names people: names, numbers, addresses."),
        tags.p(_secret_words(opened)),
        # Shiny reads the radio buttons and the boxes of a group by the group's name, wherever they stand in it.
        tags.div(
            tags.div(
                tags.div(table, class_="scroll", tabindex="0", role="region", aria_label="The columns"),
                id="attributes",
                class_="shiny-input-checkboxgroup",
                role="group",
                aria_label="Columns to release",
            ),
            id="secret",
            class_="shiny-input-radiogroup",
            role="group",
            aria_label="The secret",
        ),
        second_part([column.column for column in opened.columns if column.usable], opened.start),
        others_part("columns", opened.start.others if opened.start is not None else {}),
        ui.input_action_button("count", "Use these columns", class_="main"),
        tags.div(ui.output_ui("counted"), aria_live="polite"),
    )


def _secret_words(opened: Opened) -> str:
    """Which column is suggested as the secret."""
    name = next((column.column for column in opened.columns if column.part == "secret"), None)
    if name is None:
        return "No column looks like a secret: choose yourself what is to be protected."
    return f"{name} looks like the secret. Choose another if it is not what is to be protected."


def _row(i: int, column: Suggestion, cut: Cut) -> Tag:
    """What can be chosen for a column. The secret is not released."""
    secret = column.part == "secret"
    radio = _mark(column, secret, not column.usable, "radio", "secret", f"secret-{i}", f"{column.column} is the secret")
    box = _mark(
        column,
        column.part == "release",
        secret or not column.usable,
        "checkbox",
        "attributes",
        f"release-{i}",
        f"release {column.column}",
    )
    return tags.tr(
        tags.th(column.column, tags.small(column.how, class_="meta"), scope="row"),
        tags.td(radio),
        tags.td(box),
        tags.td(f"{column.values:,}" if column.usable else "–"),
        tags.td(*_cut(i, column, cut)),
    )


def _mark(column: Suggestion, checked: bool, disabled: bool, kind: str, name: str, place: str, label: str) -> Tag:
    """A radio button or a box for a column."""
    state: dict[str, Any] = {"disabled": ""} if disabled else {}
    state |= {"checked": ""} if checked else {}
    state |= {"data-unusable": ""} if not column.usable else {}
    return tags.input(state, type=kind, name=name, id=place, value=column.column, aria_label=label)


def _cut(i: int, column: Suggestion, cut: Cut) -> tuple[Tag | str, ...]:
    """How a column is cut: a choice, and a number or borders for it."""
    chosen_way, at = cut
    ways = CUTS_OF.get(column.kind, ()) if column.usable and column.kind is not None else ()
    if not ways:
        return ("–",)
    choices = [tags.option({"selected": ""} if way == chosen_way else {}, CUTS[way], value=way) for way in ways]
    chosen = tags.select(*choices, id=f"cut_{i}", class_="cut", aria_label=f"how {column.column} is cut")
    typed = tags.input(
        {} if chosen_way in (BINS, TOP) else {"hidden": ""},
        type="text",
        id=f"cut_at_{i}",
        value=at,
        placeholder="8" if TOP in ways else "8 or 18, 30, 65",
        aria_label=f"a number or borders for {column.column}",
    )
    return (chosen, typed) if {BINS, TOP} & set(ways) else (chosen,)


def counted_part(counts: Counts) -> Tag:
    """What was counted, and whether it is too fine for the people."""
    joint = counts.exact.joint
    shown = f"{joint.total:,} people, {joint.n_s} values of {joint.secret}, {joint.n_x:,} combinations to release."
    fine = counts.fineness
    if fine is None or not fine.too_fine:
        return tags.p(tags.strong("Counted: "), shown, class_="verdict kept")
    return tags.p(
        tags.strong("Counted, but too fine: "), f"{shown} {on_the_page(fine.words())}", class_="verdict doubt"
    )


def on_the_page(words: str) -> str:
    """Words of the command line, with options called as they are called here.

    >>> on_the_page("To try: --set bins=age=4, --set top='home town'=5. Or wider ranges (bins).")
    'To try: 4 ranges of age, the 5 most frequent values of home town. Or wider ranges.'
    """
    for option, named in OPTIONS:
        words = option.sub(named, words)
    return words.removeprefix("Too fine: ")
