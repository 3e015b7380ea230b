"""The step of the studio in which a promise is chosen, or what is to be kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from htmltools import Tag, tags
from shiny import ui

from privacyfunnel.distribution.estimate import MOST_LISTED
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.confidence import KINDS_OF_SETS, words_for
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import KINDS, kind_named
from privacyfunnel.promises.robust import full_percent
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.spec.key import keys_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.studio.actions import ATTACKERS, INSIST_LABEL, KNOWN_LABEL
from privacyfunnel.studio.more import more_part
from privacyfunnel.studio.page import section
from privacyfunnel.studio.protecting import EPSILONS, EXACT, THRESHOLDS
from privacyfunnel.studio.reopening import CONFIDENCES, LEVELS, Start
from privacyfunnel.tables.frequency_threshold import USUAL, can_have_threshold
from privacyfunnel.tables.private_counts import USUAL_EPSILON

SLIDER = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
"""The ε of the slider; others can be typed."""
FIRST = Start("", None)
"""What is chosen at first: ε = 0.5, so that beliefs change by at most 65%."""
OBJECTIVES: dict[str, str] = {
    "faithful": "rows to be counted as they stand",
    "information": "the most information, to be read with funnel estimate",
}
SHARED: dict[Objective, str] = {
    "faithful": "the cells, near values counted in part",
    "information": "the information",
}
FIRST_SHARE = 90
"""Per cent: a wish that most tables grant at a promise worth making."""
NOISE_WORDS = {0.1: "very much", 0.5: "more than usual", USUAL_EPSILON: "as usual", 2.0: "little"}
NOISE_LABEL = "Protect the protocol, too: ε₀"
THRESHOLD_LABEL = "Frequency threshold: no value in the protocol stands for fewer than"
NO_THRESHOLD = "This promise speaks of every combination of values as it is, so it goes without a threshold."


def kinds() -> list[type[Notion]]:
    """The kinds of promise whose levels are numbers."""
    return [kind for kind in KINDS.values() if set(kind.required()) <= LEVELS]


def promise_step(
    start: Start | None = None, attributes: Sequence[str] = (), second: str = "", seconds: float | None = None
) -> Tag:
    """Choose a promise, or say what is to be kept; what a recipe says is chosen already."""
    now = start if start is not None else FIRST
    longest = now.time_limit if now.time_limit is not None else seconds
    offered: list[type[Notion]] = [*kinds(), Belief]
    choices = {kind.name: f"{kind.name}: {kind.title}" for kind in offered}
    place = min(range(len(SLIDER)), key=lambda i: abs(math.log(SLIDER[i] / max(now.epsilon, SLIDER[0]))))
    return section(
        "promise-step",
        "3. The promise",
        ui.input_select("notion", "What to promise", choices, selected=now.notion, width="100%"),
        ui.output_ui("attackers"),
        ui.output_ui("limits_on_belief"),
        ui.input_select("objective", "What readers get", OBJECTIVES, selected=now.objective, width="100%"),
        ui.input_select("people", "For whom it is kept", for_whom(), selected=now.confidence, width="100%"),
        ui.output_ui("chance"),
        ui.input_select("private", NOISE_LABEL, noises(), selected=now.private, width="100%"),
        ui.input_select("at_least", THRESHOLD_LABEL, thresholds(), selected=now.at_least, width="100%"),
        ui.output_ui("threshold"),
        ui.input_checkbox("insist", INSIST_LABEL, now.insist, width="100%"),
        tags.div(
            tags.label("Smaller ε hides more, larger ε keeps more", for_="slider"),
            tags.input(
                type="range",
                id="slider",
                min="0",
                max=str(len(SLIDER) - 1),
                value=str(place),
                data_values=",".join(f"{epsilon:g}" for epsilon in SLIDER),
                aria_valuetext=f"ε = {now.epsilon:g}",
            ),
            ui.input_numeric("epsilon", "ε", now.epsilon, min=0, max=64, step=0.05),
            class_="slide",
        ),
        ui.input_numeric("time_limit", keys_of(Spec)["time_limit"].label, cast(float, longest), min=0, width="100%"),
        more_part(attributes, second, start),
        tags.details(
            tags.summary("Or say how much is to be kept"),
            tags.div(
                ui.output_ui("share"),
                ui.input_action_button("wish", "Find the smallest ε"),
                class_="slide",
            ),
        ),
    )


def share_part(objective: Objective) -> Tag:
    """How much is to be kept, and of what."""
    label = f"Keep at least this share of {SHARED[objective]} (%)"
    return ui.input_numeric("keep", label, FIRST_SHARE, min=1, max=100, step=1)


def attackers_part(start: Start | None = None) -> Tag:
    """For promises about side channels: who they are made to."""
    return ui.input_select("known", KNOWN_LABEL, ATTACKERS, selected=(start or FIRST).known, width="100%")


def for_whom() -> dict[str, str]:
    """For whom a promise can be kept, by the confidence as text; none for the counted people alone."""
    sure = {
        str(c): f"with {full_percent(c)} confidence, everybody of whom they are a random sample" for c in CONFIDENCES
    }
    return {"": "the people in the table", **sure}


def noises() -> dict[str, str]:
    """How the protocol can be protected, by the ε₀ as text."""
    said = {f"{epsilon:g}": f"{epsilon:g}: noise on every count, {NOISE_WORDS[epsilon]}" for epsilon in EPSILONS}
    return {**said, EXACT: "exact counts (research, stays in the house)"}


def thresholds() -> dict[str, str]:
    """The frequency thresholds, by the number of people as text."""
    usual = f"1 person (no threshold; {USUAL} people with more than {MOST_LISTED:,} combinations)"
    return {str(people): f"{people} people" if people > 1 else usual for people in THRESHOLDS}


def threshold_part(notion: str, confidence: str) -> Tag | None:
    """That a promise goes without a threshold, if it does."""
    sure = float(confidence) if confidence else None
    return None if can_have_threshold(kind_named(notion) or Notion, sure) else tags.p(NO_THRESHOLD, class_="meta")


def chance_part(start: Start | None = None) -> Tag:
    """For promises about a population: how what chance leaves open is bounded."""
    kinds: dict[str, str] = {one: f"{one}: {words_for(one)}" for one in KINDS_OF_SETS}
    choices = {"": "what suits the columns", **kinds}
    return ui.input_select("within", "Chance is bounded by", choices, selected=(start or FIRST).within, width="100%")
