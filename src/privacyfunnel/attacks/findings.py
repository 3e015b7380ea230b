"""Findings: what a protocol promises, keeps and gives away, as numbers that command line and web page both show."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import NotCertified
from privacyfunnel.numeric.information import NATS_PER_BIT, mutual_information, share_kept
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.released import kept, released
from privacyfunnel.typing import Matrix

NOTHING = 1e-9
"""A share of the information that is not worth mentioning."""
NOISE = 1e-9
"""Thousandths: a share this little above a whole number of them is that number, and float64's error."""
SMALL_GAP = 1e-4
"""A gap for which the words below need no second number."""


@dataclass(frozen=True)
class Leakage:
    """What somebody learns of the secret from one thing they see."""

    leakage_bits: float
    """How much it tells of the secret on average."""
    largest_lift: float
    """The largest factor by which a belief in a value of the secret rises."""
    smallest_lift: float
    """The smallest factor, for a belief that falls."""
    best_guess: float
    """How often the best guess of the secret is right."""


@dataclass(frozen=True)
class Findings:
    """A protocol, measured on the distribution it was made for."""

    promise: str
    notion: dict[str, Any]
    level: float
    holds: bool
    kept_bits: float
    kept_share: float
    """Of the information in the attributes."""
    entropy_bits: float
    gap_share: float
    """At most this share is lost to the best protocol there is: of the information or, if it is faithful, of cells."""
    blind_guess: float
    """How often the best guess of the secret is right for somebody who sees nothing."""
    original: Leakage
    released: Leakage

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def best_words(kept_share: float, gap_share: float) -> str:
    """How much the best protocol might keep, rounded up: it is never said to be less than it may be.

    >>> best_words(0.93, 0.00412)
    'no protocol with this promise keeps more than 93.5%'
    """
    if kept_share > 1 - NOTHING:
        return "nothing is lost"
    if gap_share < SMALL_GAP:
        return f"no protocol with this promise keeps even {SMALL_GAP:.2%} more"
    most = min(1.0, math.ceil((kept_share + gap_share) * 1000 - NOISE) / 1000)
    return f"no protocol with this promise keeps more than {most:.1%}"


def findings(protocol: Protocol, joint: Joint, certificate: Certificate | None = None) -> Findings:
    """Measure `protocol` on `joint`."""
    certificate = certify(protocol, joint) if certificate is None else certificate
    if certificate.worst is None:
        raise NotCertified(f"nothing can be said of this table: {certificate.reason}")
    entropy, information = joint.entropy, kept(protocol, joint)
    return Findings(
        promise=protocol.notion.words(),
        notion=protocol.notion.as_dict(),
        level=certificate.level,
        holds=bool(certificate),
        kept_bits=information / NATS_PER_BIT,
        kept_share=share_kept(information, entropy),
        entropy_bits=entropy / NATS_PER_BIT,
        gap_share=_gap_share(protocol),
        blind_guess=float(joint.p_s.max()),
        original=leakage(joint.p),
        released=leakage(released(protocol, joint)),
    )


def _gap_share(protocol: Protocol) -> float:
    if protocol.likeness is not None:
        return protocol.likeness.fidelity_bound - protocol.likeness.fidelity
    return protocol.gap / protocol.entropy if protocol.entropy else 0.0


def leakage(p: Matrix) -> Leakage:
    """What seeing Z tells of S, for p[s, z] = P(s, z)."""
    p = p[:, p.sum(axis=0) > 0]
    lift = p / p.sum(axis=1, keepdims=True) / p.sum(axis=0)
    return Leakage(
        leakage_bits=mutual_information(p) / NATS_PER_BIT,
        largest_lift=float(lift.max()),
        smallest_lift=float(lift.min()),
        best_guess=float(p.max(axis=0).sum()),
    )
