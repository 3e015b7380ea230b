"""What the steps after a fit cannot be asked for. A run refuses it before any step is begun."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeVar

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.form import Label, impossible
from privacyfunnel.spec.impossible import Impossible
from privacyfunnel.spec.of_readers import EstimateSpec, RegressSpec
from privacyfunnel.spec.of_steps import AuditSpec, PublishSpec, ReportSpec, SanitiseSpec, StepSpec
from privacyfunnel.spec.refusals import ON_A_CLUSTER, Apart, Needs, When, apart, refuse

S = TypeVar("S", bound=StepSpec)
PROTOCOL = When(lambda s: s.protocol is None, "{protocol} is missing: name the file that funnel fit wrote")
RELEASED = When(lambda s: s.released is None, "{released} is missing: name the table that funnel sanitise wrote")
CONTRASTS = "by simultaneous project compare association"
RULES: Mapping[type[StepSpec], tuple[Apart | Needs | When, ...]] = {
    SanitiseSpec: (
        When(lambda s: s.table is None, "{table} is missing: name the table whose rows are to be released"),
        PROTOCOL,
        *ON_A_CLUSTER,
        When(
            lambda s: s.was is not None and s.engine == "spark",
            "{was} joins tables on this machine: leave out {engine} spark, or join them there",
        ),
        When(
            lambda s: s.engine == "spark" and (s.internal is not None or s.released is not None),
            "{internal} and {released} are for {engine} duckdb",
        ),
        When(
            lambda s: s.person is not None and not (s.remember or s.internal or s.released),
            "{person} goes with {remember}, {internal}, or the {released} of a follow-up",
        ),
    ),
    AuditSpec: (
        PROTOCOL,
        Needs("where", "table", "it says which rows of a table are meant"),
        Needs("attack", "table", "an attack is scored on the people of the original table"),
    ),
    ReportSpec: (
        PROTOCOL,
        apart("public", "table where", "it tells only what the protocol file does"),
        When(
            lambda s: not s.public and s.table is None,
            "a report needs {table}; a page without it is made with {public}",
        ),
    ),
    EstimateSpec: (
        RELEASED,
        PROTOCOL,
        apart("compare", CONTRASTS, "it goes with columns to compare, and conditions"),
        apart("association", CONTRASTS, "it goes with pairs of columns, and conditions"),
    ),
    RegressSpec: (
        RELEASED,
        When(lambda s: s.formula is None, '{formula} is missing: say the model, such as "weight ~ height + sex"'),
        PROTOCOL,
    ),
    PublishSpec: (
        When(
            lambda s: s.released is None,
            "{released} is missing: name the table to publish, as funnel sanitise wrote it",
        ),
        PROTOCOL,
    ),
}
"""In this order: what comes first is told."""


def checked(step: S, label: Label | None = None) -> S:
    """The same, if it can be; or one line that calls keys as `label` says, or else as options."""
    try:
        refuse(step, RULES[type(step)])
    except Impossible as trouble:
        own = partial(as_flags.flag, type(step)) if label is None else label
        raise InvalidInput(impossible(type(step), trouble, own)) from None
    return step
