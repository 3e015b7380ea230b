"""What was chosen as a recipe, and a recipe as what is chosen when the studio opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import kind_named
from privacyfunnel.publishing.details import slug_of
from privacyfunnel.recipes.recipe import Recipe
from privacyfunnel.recipes.to_toml import to_text
from privacyfunnel.spec import as_keywords, as_toml
from privacyfunnel.spec.form import texts_of, without_empty
from privacyfunnel.spec.grammar import number_text
from privacyfunnel.spec.key import keys_of
from privacyfunnel.spec.of_steps import ReportSpec
from privacyfunnel.spec.refusals import READING
from privacyfunnel.spec.spec import Spec
from privacyfunnel.studio.others import said_by
from privacyfunnel.studio.protecting import EPSILONS, EXACT, THRESHOLDS, Protection
from privacyfunnel.studio.wishing import BINS, EACH, TOP, Cut
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.private_counts import USUAL_EPSILON

CONFIDENCES = (0.9, 0.95, 0.99)
"""Those that people know from elsewhere."""
LEVELS = {"epsilon", "lower", "upper"}
"""How far beliefs may change, as kinds of promise call it."""
KNOWN = (1, 2)
"""How many columns attackers may know, where it is not any."""


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
    at_least: str = str(THRESHOLDS[0])
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
    others: Mapping[str, str] = field(default_factory=dict)
    """All other keys, as typed."""
    time_limit: float | None = None


def start_of(recipe: Recipe) -> Start:
    """The choices that a recipe stands for; what the page has no place for is refused, by its key."""
    fit = recipe.fit
    for name in ("keep", "improve"):  # the page begins with a promise for columns
        _refuse(getattr(fit, name) is not None, as_toml.written(Spec, name))
    if len(fit.secret or ()) > 2 or any(len(names) > 1 for names in fit.secret or ()):
        raise InvalidInput("fit.secret: the studio has a place for one secret column, or two that stand by themselves")
    kind = kind_named(fit.kinds[0])
    if kind is None or isinstance(fit.notion, dict) or not set(kind.required()) <= {*LEVELS, "most"}:
        raise InvalidInput(f"fit.notion: the studio has no place for {fit.notion!r}; use funnel run")
    if not fit.promised:
        raise InvalidInput("fit.epsilon: the studio begins with a promise, which needs it")
    if fit.columns == "auto":
        raise InvalidInput("fit.columns: the studio has no place for auto; use funnel run, or name the columns")
    first, *more = fit.secret_columns
    second = more[0] if more else ""
    epsilon, of_second, levels = _levels(fit.epsilon, first, second)
    levels, beliefs = ("", levels) if "most" in kind.required() else (levels, "")
    noise = None if fit.exact_fit else USUAL_EPSILON if fit.private is None else fit.private
    least = fit.at_least or THRESHOLDS[0]
    return Start(
        first,
        tuple(fit.named) if fit.named is not None else None,
        _cuts(fit),
        kind.name,
        epsilon,
        "any" if fit.known is None else str(_one_of(fit.known, KNOWN, "fit.known")),
        fit.kept,
        "" if fit.confidence is None else str(_one_of(fit.confidence, CONFIDENCES, "fit.confidence")),
        fit.within or "",
        EXACT if noise is None else f"{_one_of(noise, EPSILONS, 'fit.private'):g}",
        str(_one_of(least, THRESHOLDS, "fit.at-least")),
        second,
        of_second,
        levels,
        bool(fit.ordered),
        fit.keep_exact or (),
        fit.per_range,
        beliefs,
        bool(fit.insist),
        said_by(fit),
        fit.time_limit,
    )


def _levels(said: Any, first: str, second: str) -> tuple[float, float, str]:
    """The ε of the first secret and of the second one, and levels for values, as typed."""
    if not isinstance(said, dict):
        epsilon = said if said is not None else Start.epsilon
        return epsilon, epsilon, ""
    if not second:
        return Start.epsilon, Start.second_epsilon, levels_text(said)
    return said[first], said[second], ""


def levels_text(levels: Mapping[str, float]) -> str:
    """Levels as they are typed.

    >>> levels_text({"yes": 0.1, "no, never": 1})
    'yes=0.1,"no, never"=1'
    """
    return texts_of(Spec, "epsilon", levels)[0]


def _refuse(said: bool, key: str) -> None:
    if said:
        raise InvalidInput(f"{key}: the studio has no place for it; use funnel run, or take it out")


def _one_of(value: Any, there: tuple[Any, ...], key: str) -> Any:
    if isinstance(value, list | dict) or value not in there:
        raise InvalidInput(f"{key}: the studio has {', '.join(f'{one:g}' for one in there)}; use funnel run for others")
    return value


def _cuts(fit: Spec) -> dict[str, Cut]:
    """How columns are cut, as it is chosen and typed on the page."""
    cuts: dict[str, Cut] = {}
    for name, bins in (fit.bins or {}).items():
        typed = ", ".join(map(number_text, bins)) if isinstance(bins, tuple) else str(bins)
        cuts[name] = (EACH, "") if bins == EACH else (BINS, typed)
    cuts |= {name: (TOP, str(many)) for name, many in (fit.top or {}).items()}
    return cuts | {name: (by, "") for name, by in (fit.dates or {}).items()}


def recipe_text(
    table: str,
    secret: str | list[list[str]],
    attributes: tuple[str, ...],
    wishes: Wishes,
    promise: Notion | Spec,
    objective: str,
    protection: Protection,
    time_limit: float | None,
) -> str:
    """What was chosen, as a recipe that does it again, for a table that lies beside it."""
    asked: dict[str, Any] = {"table": table, **_said(promise), "secret": secret, "columns": attributes}
    asked |= {"exact_fit": protection.private is None, "private": protection.private, "insist": protection.insist}
    asked |= {
        "at_least": protection.at_least if protection.at_least > 1 else None,
        "objective": objective,
        "time_limit": time_limit,
    }
    asked |= {"bins": wishes.bins, "top": wishes.top, "dates": wishes.dates}
    asked |= {"group": wishes.groups, "missing": tuple(wishes.missing)}
    if asked.get("improve") is not None:  # which takes all else from its protocol
        asked = {name: asked.get(name) for name in ("improve", "gap", *READING)}
    asked |= {"table": table, "time_limit": time_limit}
    spec = as_keywords.said(Spec, **without_empty(asked)).spec()
    output = f"{slug_of(table.split('.')[0])}-release"
    return to_text(Recipe(recipe=1, output=output, fit=spec, report=ReportSpec(curves=False)))


def with_files(spec: Spec, named: Mapping[str, str]) -> Spec:
    """The same, with files that were uploaded called as their owner calls them."""
    seen = {name: getattr(spec, name) for name, key in keys_of(Spec).items() if key.path and getattr(spec, name)}
    return spec.model_copy(
        update={
            name: tuple(named.get(path, path) for path in one) if isinstance(one, tuple) else named.get(one, one)
            for name, one in seen.items()
        }
    )


def _said(promise: Notion | Spec) -> dict[str, Any]:
    """What a promise is asked for by; the secret is said apart."""
    asked = promise.said() if isinstance(promise, Spec) else promise.asked() or {}
    return {name: value for name, value in asked.items() if name != "secret"}
