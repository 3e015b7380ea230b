"""What a fit cannot be asked for: one line for each, when it is so and what to do. Nowhere else is this said."""

from __future__ import annotations

from privacyfunnel.drawing.gaussian import checked_model_delta
from privacyfunnel.drawing.laplace import checked_epsilon
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.impossible import Impossible, literally
from privacyfunnel.spec.of_fit import OfFit
from privacyfunnel.spec.promising import is_promised, kind_of, promise_of, takes
from privacyfunnel.spec.refusals import ON_A_CLUSTER, Apart, Needs, When, alone, apart, is_said, refuse


def _several(spec: OfFit) -> bool:
    return len(spec.secret or ()) > 1


def _knowing(spec: OfFit) -> bool:
    return any(takes(kind_of(kind), "known") for kind in spec.kinds)


def _threshold(spec: OfFit) -> bool:
    return spec.at_least is not None and spec.at_least > 1


def _by_value(spec: OfFit) -> bool:
    return isinstance(spec.epsilon, dict) and not _several(spec)


RULES: tuple[Apart | Needs | When, ...] = (
    alone("improve", "gap time_limit", "it takes all from its protocol"),
    When(lambda s: s.secret is None and s.improve is None, "{secret} is missing: name the column to protect"),
    # the columns that are filled
    Needs("ranges", "fill", "without it, ranges are released as such"),
    Needs("never", "fill", "only filled columns are drawn so that they obey"),
    apart("fill", "exact_fit", "what is drawn from exact counts tells them"),
    apart("fill", "after", "they would be drawn anew, while a follow-up is about one row of a person"),
    apart("fill", "confidence", "its noise is accounted for the published counts only"),
    apart("fill", "allow_secret_attribute", "a secret that is released is not filled"),
    When(
        lambda s: s.fill is not None and s.kept == "information",
        "{fill} needs rows that are values themselves: leave out {objective}",
    ),
    When(lambda s: s.fill is not None and s.engine == "spark", "{fill} reads rows on this machine: leave out {engine}"),
    When(
        lambda s: (
            s.fill is not None and s.fill != ("rest",) and bool({*s.fill} & {*(s.named or ()), *s.secret_columns})
        ),
        "{fill} names a column that is kept, or the secret",
    ),
    # the secrets
    When(
        lambda s: _several(s) and any(len(names) != 1 for names in s.secret or ()),
        "several {secret} are promises about each; name one column in each, or all in one",
    ),
    When(
        lambda s: _several(s) and len(set(s.secret_columns)) < len(s.secret_columns),
        "the same column is named by two {secret}; once will do",
    ),
    When(
        lambda s: not _several(s) and isinstance(s.notion, dict),
        "{notion} names a kind for each of several secrets, and there is one; name the kind alone",
    ),
    When(
        lambda s: not _several(s) and isinstance(s.known, dict),
        "{known} names something for each of several secrets, and there is one; say it alone",
    ),
    When(
        lambda s: not s.allow_secret_attribute and not {*s.secret_columns}.isdisjoint(s.named or ()),
        "{columns} names a secret, too: leave it out, or say {allow_secret_attribute} to release it sanitised",
    ),
    When(
        lambda s: s.allow_secret_attribute and not s.exact_fit and not {*s.secret_columns}.isdisjoint(s.named or ()),
        "{allow_secret_attribute} needs {exact_fit}: noise on counts does not protect a secret that is itself released",
    ),
    When(
        lambda s: s.person is not None and s.person in (s.named or ()),
        "{person} would be released: leave it out of {columns}",
    ),
    # the promise
    apart("keep", "error", "each finds an ε; ask for one of them"),
    apart("keep", "epsilon lower upper", "it finds the smallest ε"),
    apart("error", "epsilon lower upper", "it finds the smallest ε"),
    apart("keep", "per_range confidence readers", "it finds one ε, for the people in the table"),
    apart("error", "per_range confidence", "it finds one ε, for the people in the table"),
    Needs("per_range", "ordered", "borders within one ε, single ranges within another"),
    When(
        lambda s: _by_value(s) and (s.lower is not None or s.upper is not None),
        "{epsilon} says a level for each value, so leave out {lower} and {upper}",
    ),
    # the population
    Needs("within", "confidence", "it says how chance is bounded for a confidence, such as 0.95"),
    Needs("chain", "confidence", "it says how tables are cut for a confidence, such as 0.95"),
    When(
        lambda s: s.within not in (None, "nested") and not s.exact_fit,
        "{within} needs {exact_fit}: noisy counts are bounded by nested sets",
    ),
    When(
        lambda s: s.confidence is not None and s.columns == "auto",
        "{confidence} cannot be combined with {columns} auto: it holds for columns that are named beforehand",
    ),
    apart(
        "confidence",
        "readers",
        "it promises about every distribution that the table leaves open, and estimates are sharp for one of them; "
        "leave out one of the two",
    ),
    apart("confidence", "coarsen", "it holds for ranges that are fixed beforehand; name them by {bins}"),
    When(
        lambda s: s.confidence is not None and _threshold(s),
        "{confidence} cannot be combined with {at_least}: it speaks of every combination of values",
    ),
    When(
        lambda s: _knowing(s) and _threshold(s),
        "{notion} cannot be combined with {at_least}: attackers who know columns know them as they are",
    ),
    # columns
    When(
        lambda s: s.named is not None and s.leave_out is not None and s.fill is None,
        "{leave_out} cannot be combined with {columns}, which names what is released; say one of them",
    ),
    When(
        lambda s: s.coarsen == "search" and s.columns == "auto",
        "{coarsen} search chooses columns, too, so leave out {columns} auto",
    ),
    When(
        lambda s: (
            s.coarsen == "search"
            and (not _knowing(s) or _several(s) or any(is_said(s, key) for key in ("keep", "error", "keep_exact")))
        ),
        "{coarsen} search is for one promise to people who know columns, {notion} srlip or srldp, for all columns "
        "together: leave out {keep}, {error} and {keep_exact}",
    ),
    apart("domain", "bins top dates written missing", "the domain file says how columns are read; say it there"),
    apart("keep_exact", "readers", "it goes with one protocol for its cells"),
    When(
        lambda s: s.keep_exact is not None and s.error is not None and s.kept != "faithful",
        "{keep_exact} with {error} is for rows that are counted: {objective} faithful",
    ),
    # what is kept the most of
    When(
        lambda s: s.sharp_for is not None and s.kept != "information",
        "{readers} is for {objective} information; rows of a faithful release can be counted",
    ),
    When(
        lambda s: s.weight is not None and s.kept != "faithful",
        "{weight} is for {objective} faithful, which counts cells",
    ),
    When(
        lambda s: s.give_up is not None and s.sharp_for is None and s.error is None,
        "{give_up} says what readers may cost, so it needs {readers}",
    ),
    # the privacy of the fit
    apart("exact_fit", "private delta", "it is without noise"),
    # what was released before
    Needs("released", "after", "it is for a follow-up of an earlier protocol"),
    Needs("was", "after", "it is for a follow-up of people who changed"),
    Needs("unchanged", "was", "it is for a follow-up of people who changed"),
    Needs("cover", "was", "it is for a follow-up of people who changed"),
    Needs("released", "person", "tables are joined by the column that says whose rows they are"),
    Needs("was", "person", "tables are joined by the column that says whose rows they are"),
    apart(
        "after",
        "keep error readers confidence keep_exact coarsen leave_out",
        "a follow-up is for one promise about the counts as they are",
    ),
    When(
        lambda s: s.after is not None and s.columns == "auto",
        "{after} cannot be combined with {columns} auto: a follow-up is for columns that are named",
    ),
    When(
        lambda s: s.unchanged == "keep" and s.objective == "faithful",
        "{unchanged} keep cannot be combined with {objective} faithful: rows that stay what they were do not have "
        "today's distribution",
    ),
    When(
        lambda s: s.was is not None and s.unchanged is None and s.objective == "faithful" and s.cover is not None,
        "{cover} is for {unchanged} keep",
    ),
    When(lambda s: s.cover is not None and s.unchanged == "draw", "{cover} is for {unchanged} keep"),
    # where it is done
    *ON_A_CLUSTER,
    When(
        lambda s: s.engine == "spark" and s.after is not None,
        "{after} joins tables on this machine, so leave out {engine} spark",
    ),
)
"""In this order: what comes first is told."""


def check(spec: OfFit) -> None:
    """Refuse what cannot be, in one sentence."""
    refuse(spec, RULES)
    for key, value, checked in (
        ("private", spec.private, checked_epsilon),
        ("delta", spec.delta, checked_model_delta),
    ):
        try:
            _ = None if value is None else checked(value)
        except InvalidInput as trouble:
            raise Impossible(f"{{{key}}}: {literally(trouble)}") from None
    if is_promised(spec) and spec.improve is None:
        promise_of(spec)
