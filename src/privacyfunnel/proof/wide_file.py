"""The public audit of a model's file: its noisy tables can have the noise that is stated, its model follows from them,
and every group that its rule makes of the model keeps the promise.

The model is fitted again. It is not fitted instead of being read: machines differ in the last digits of exponentials,
so that factors may come out otherwise in their last digits, and groups have to be the same to the last bit. So the file
holds the factors, from which groups follow exactly, and here they may differ from those that are fitted by no more than
machines do.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.table_noise import flaw_in_noise
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.proof.wide import certify_plan, refused
from privacyfunnel.protocols.wide.by_model import ByModel

ROUNDED = 2
"""Parts in 2³⁰ of a table's largest factor, by which one may be rounded otherwise, and …"""
OF_FACTOR = 2.0**-20
"""… the part of a factor itself. With exponentials that are off in the last digit, of 274 random models 271 came out
alike, and three by up to 2·10⁻⁷, where noise is larger than the people are many."""
OTHER_MODEL = "the model does not follow from the noisy tables"


def certify_model(step: ByModel, notion: Notion) -> Certificate:
    """Everything that a model's file shows by itself, without the table that it was fitted on."""
    flaw = flaw_in_noise(step.tables, isinstance(step.noise, LaplaceNoise)) or _flaw_in_model(step)
    return certify_plan(step.plan, notion) if flaw is None else refused(notion, flaw)


def _flaw_in_model(step: ByModel) -> str | None:
    """Whether another model than the file's follows from its noisy tables, or none."""
    own = step.model
    try:
        again = fitted_model(step.tables)
    except InvalidInput as impossible:
        return f"no model follows from the noisy tables: {impossible}"
    if (own.sizes, own.sets, own.exponent) != (again.sizes, again.sets, again.exponent):
        return OTHER_MODEL
    same = all(
        table.shape == other.shape and (np.abs(table - other) <= ROUNDED + OF_FACTOR * other).all()
        for table, other in zip(own.tables, again.tables, strict=True)
    )
    return None if same else OTHER_MODEL
