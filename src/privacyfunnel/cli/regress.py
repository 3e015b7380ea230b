"""funnel regress: a model of the original rows, from the released ones. What computes is loaded only to do so."""

from __future__ import annotations

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.loading import loaded
from privacyfunnel.spec.of_readers import RegressSpec


@asked(model=RegressSpec)
def regress(spec: RegressSpec, json: shared.Json = False) -> None:
    """Fit a linear, logistic or Poisson model, with honest errors, from a released table and its protocol alone.

    Example: funnel regress open.csv "weight ~ height + sex" --protocol protocol.json
    """
    with loaded():
        from privacyfunnel.cli.regressing import regress_release
    regress_release(spec, json)
