"""funnel estimate: what a released table tells of the original one. What computes is loaded only to do so."""

from __future__ import annotations

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked
from privacyfunnel.cli.loading import loaded
from privacyfunnel.spec.of_readers import EstimateSpec


@asked(model=EstimateSpec)
def estimate(spec: EstimateSpec, json: shared.Json = False) -> None:
    """Estimate frequencies in the original table, with intervals, from a released table and its protocol alone.

    Example: funnel estimate open.csv --protocol protocol.json --of town,age --by sex
    """
    with loaded():
        from privacyfunnel.cli.estimating import estimate_release
    estimate_release(spec, json)
