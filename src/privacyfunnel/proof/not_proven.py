"""What an audit takes on trust, in words."""

from __future__ import annotations

from privacyfunnel.proof.fill_file import least_noticed
from privacyfunnel.protocols.fill import Fill
from privacyfunnel.protocols.protocol import Protocol

_STEWARDS_WORD = (
    "Not proven: that noise of the stated size was added to the counts, and that everything else in the file was made "
    "of these noisy counts alone. That is the publisher's word; no file can show it."
)
_OF_FILLED = (
    "Not proven, either: that noise of σ = {sigma:.4g} was added to the tables of {of}, and what choosing these tables "
    "spent of their part of ε₀ ({epsilon:g}). That is the publisher's word, too. The audit checks that these tables "
    "differ from each other as such noise makes them. {noticed}"
)
_NOTICED = "It would notice noise of less than σ = {least:.2g}, unless somebody made up numbers that look like more."
_TOO_FEW = "There are too few of them to notice less noise by."


def not_proven(protocol: Protocol) -> list[str]:
    """What an audit of this protocol takes on trust."""
    if not protocol.private:
        return []
    return [_STEWARDS_WORD, *([] if protocol.fill is None else [_of_filled(protocol, protocol.fill)])]


def _of_filled(protocol: Protocol, fill: Fill) -> str:
    sizes = {column.name: len(column) for column in protocol.columns}
    least = least_noticed(fill, protocol.people or 0, sizes)
    return _OF_FILLED.format(
        of=", ".join([*fill.names, *fill.numbers]),
        sigma=fill.noise.sigma,
        epsilon=fill.noise.epsilon,
        noticed=_NOTICED.format(least=least) if least > 0 else _TOO_FEW,
    )
