"""What was chosen as a recipe, and a recipe as what is chosen when the studio opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import kind_named
from privacyfunnel.publishing.details import slug_of
from privacyfunnel.recipes.recipe import Fit, Recipe, Report
from privacyfunnel.recipes.to_toml import to_text
from privacyfunnel.report.commands import options_of
from privacyfunnel.spec.toml_file import hyphened
from privacyfunnel.studio.protecting import EPSILONS, EXACT, THRESHOLDS, Protection
from privacyfunnel.studio.wishing import BINS, EACH, TOP, Cut
from privacyfunnel.tables.cutting import Bins
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.frequency_threshold import USUAL
from privacyfunnel.tables.private_counts import USUAL_EPSILON

CONFIDENCES = (0.9, 0.95, 0.99)
"""Those that people know from elsewhere."""
KNOWN = (1, 2)
"""How many columns attackers may know, where it is not any."""
SHOWN = {
    *("secret", "attributes", "notion", "epsilon", "known", "confidence", "within", "private", "exact_fit", "at_least"),
    *("insist", "objective", "bins", "top", "dates", "time_limit", "ordered", "per_range", "exact"),
}
"""Keys of [fit] that the studio has a place for."""


@dataclass(frozen=True)
class Start:
    """What is chosen on the page when it opens."""

    secret: str
    attributes: tuple[str, ...] | None
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    notion: str = "lip"
    epsilon: float = 0.5
    known: str = "any"
    objective: str = "faithful"
    confidence: str = ""
    within: str = ""
    private: str = f"{USUAL_EPSILON:g}"
    at_least: str = str(USUAL)
    second: str = ""
    """Another secret, with a promise of its own."""
    second_epsilon: float = 0.5
    levels: str = ""
    """For values of the secret, as typed."""
    ordered: bool = False
    exact: tuple[str, ...] = ()
    per_range: float | None = None
    beliefs: str = ""
    """Limits on belief, as typed."""
    insist: bool = False


def start_of(recipe: Recipe) -> Start:
    """The choices that a recipe stands for; what the page has no place for is refused, by its key."""
    fit = recipe.fit
    for name in ("where", "delimiter", "encoding"):
        _refuse(getattr(recipe, name) is not None, name)
    for name in type(fit).model_fields:
        _refuse(name not in SHOWN and getattr(fit, name) not in (None, False), f"fit.{hyphened(name)}")
    if len(fit.secrets) > 2 or any(len(names) > 1 for names in fit.secrets):
        raise InvalidInput("fit.secret: the studio has a place for one secret column, or two that stand by themselves")
    notion = fit.notion or "lip"
    kind = kind_named(notion) if isinstance(notion, str) else None
    if kind is None or not set(kind.required()) <= {"epsilon", "most"}:
        raise InvalidInput(f"fit.notion: the studio has no place for {notion!r}; use funnel run")
    if kind.required() and fit.epsilon is None:
        raise InvalidInput("fit.epsilon: the studio begins with a promise, which needs it")
    private = USUAL_EPSILON if fit.private is None else fit.private
    first, second = fit.secrets[0][0], fit.secrets[1][0] if len(fit.secrets) > 1 else ""
    epsilon, of_second, levels = _levels(fit.epsilon, first, second)
    levels, beliefs = ("", levels) if "most" in kind.required() else (levels, "")
    return Start(
        first,
        tuple(fit.attributes) if fit.attributes is not None else None,
        _cuts(fit),
        notion,
        epsilon,
        "any" if fit.known is None else str(_one_of(fit.known, KNOWN, "fit.known")),
        fit.objective or "faithful",
        "" if fit.confidence is None else str(_one_of(fit.confidence, CONFIDENCES, "fit.confidence")),
        fit.within or "",
        EXACT if fit.exact_fit else f"{_one_of(private, EPSILONS, 'fit.private'):g}",
        str(_one_of(fit.at_least or (1 if fit.exact_fit else USUAL), THRESHOLDS, "fit.at-least")),
        second,
        of_second,
        levels,
        bool(fit.ordered),
        tuple(fit.exact or ()),
        fit.per_range,
        beliefs,
        bool(fit.insist),
    )


def _levels(said: Any, first: str, second: str) -> tuple[float, float, str]:
    """The ε of the first secret and of the second one, and levels for values, as typed."""
    if not isinstance(said, dict):
        epsilon = said if said is not None else Start.epsilon
        return epsilon, epsilon, ""
    if not second:
        return Start.epsilon, Start.second_epsilon, levels_text(said)
    if set(said) != {first, second}:
        raise InvalidInput(f"fit.epsilon: should say one for {first} and one for {second}")
    return said[first], said[second], ""


def levels_text(levels: Mapping[str, float]) -> str:
    """Levels as they are typed.

    >>> levels_text({"yes": 0.1, "no, never": 1})
    'yes=0.1, "no, never"=1'
    """
    return ", ".join(
        f'"{value}"={level:g}' if "," in value else f"{value}={level:g}" for value, level in levels.items()
    )


def _refuse(said: bool, key: str) -> None:
    if said:
        raise InvalidInput(f"{key}: the studio has no place for it; use funnel run, or take it out")


def _one_of(value: Any, there: tuple[Any, ...], key: str) -> Any:
    if isinstance(value, list | dict) or value not in there:
        raise InvalidInput(f"{key}: the studio has {', '.join(f'{one:g}' for one in there)}; use funnel run for others")
    return value


def _cuts(fit: Fit) -> dict[str, Cut]:
    """How columns are cut, as it is chosen and typed on the page."""
    cuts: dict[str, Cut] = {}
    for name, bins in (fit.bins or {}).items():
        typed = ", ".join(map(str, bins)) if isinstance(bins, list) else str(bins)
        cuts[name] = (EACH, "") if bins == EACH else (BINS, typed)
    cuts |= {name: (TOP, str(many)) for name, many in (fit.top or {}).items()}
    return cuts | {name: (by, "") for name, by in (fit.dates or {}).items()}


def recipe_text(
    table: str,
    secret: str | list[list[str]],
    attributes: tuple[str, ...],
    wishes: Wishes,
    promise: Notion,
    objective: str,
    protection: Protection,
    time_limit: float | None,
    **more: Any,
) -> str:
    """What was chosen, as a recipe that does it again, for a table that lies beside it; `more` are other keys of fit.

    They come before what the promise says, whose kind and ε are those of the first secret.
    """
    said: dict[str, Any] = {"secret": secret, "attributes": list(attributes), **_promise(promise), **more}
    if protection.private is None:
        said["exact_fit"] = True
    else:
        said["private"] = protection.private
    said |= {"at_least": protection.at_least} if protection.at_least else {}
    said |= {"insist": True} if protection.insist else {}
    said |= {"objective": objective, "time_limit": time_limit}
    said |= {"bins": {name: _bins(one) for name, one in wishes.bins.items()} or None}
    said |= {"top": dict(wishes.top) or None, "dates": dict(wishes.dates) or None}
    fit = Fit(**{name: value for name, value in said.items() if value is not None})
    output = f"{slug_of(table.split('.')[0])}-release"
    return to_text(Recipe(recipe=1, table=table, output=output, fit=fit, report=Report(curves=False)))


def _promise(promise: Notion) -> dict[str, Any]:
    """A promise as options; names that are tuples are lists in a recipe."""
    said = {name: value for name, value in options_of(promise).items() if value is not None}
    if "most" in said:  # limits on belief
        said = {name: value for name, value in said.items() if name not in ("most", "places")} | {
            "epsilon": {str(value): most for value, most in said["most"]}
        }
    return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}


def _bins(bins: Bins) -> Any:
    return [float(edge) for edge in bins] if isinstance(bins, list | tuple) else bins
