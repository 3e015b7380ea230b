"""The public audit of a model's file: its noisy tables can have the noise that is stated, its model follows from them,
and every group that its rule makes of the model keeps the promise.

The model is fitted again. Machines differ in the last digits of an exponential, and a factor is a whole number of
parts in 2³⁰, so that it may be rounded the other way: no factor may differ by more than OTHER_WAY parts. That groups
are those of the file's own factors, to the last bit, is checked by their digest.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.errors import InvalidInput
from privacyfunnel.proof.table_noise import flaw_in_noise
from privacyfunnel.proof.wide import WideCertificate, certify_plan, refused
from privacyfunnel.protocols.wide.protocol import WideProtocol

OTHER_WAY = 16
"""Parts in 2³⁰ of a table's largest factor. On machines that round exponentials another way, none of 5,000 factors of
three models differed by one part."""
OTHER_MODEL = "the model does not follow from the noisy tables"


def certify_wide(protocol: WideProtocol) -> WideCertificate:
    """Everything that a model's file shows by itself, without the table that it was fitted on."""
    flaw = flaw_in_noise(protocol.tables, isinstance(protocol.noise, LaplaceNoise)) or _flaw_in_model(protocol)
    return certify_plan(protocol.plan, protocol.notion) if flaw is None else refused(flaw)


def _flaw_in_model(protocol: WideProtocol) -> str | None:
    """Whether another model than the file's follows from its noisy tables, or none."""
    own = protocol.model
    try:
        again = fitted_model(protocol.tables)
    except InvalidInput as impossible:
        return f"no model follows from the noisy tables: {impossible}"
    if (own.sizes, own.sets, own.exponent) != (again.sizes, again.sets, again.exponent):
        return OTHER_MODEL
    same = all(
        table.shape == other.shape and (np.abs(table - other) <= OTHER_WAY).all()
        for table, other in zip(own.tables, again.tables, strict=True)
    )
    return None if same else OTHER_MODEL
