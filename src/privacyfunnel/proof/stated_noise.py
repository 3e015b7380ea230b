"""Whether the noisy counts of one release can have the noise that its file states, of as many people as it states.

N_i people are in cell i, and z_i is its noise, discrete Laplace noise of scale 2/ε₀. Nobody knows N_i, but it is not
below 0, and all N_i sum to the number of people, which is public. So

- the noisy counts sum to the people and the noise of a sum of all cells (`largest_noise`);
- none lies below the noise of one cell, or above all people by more than that;
- |N_i + z_i| ≤ w is no more likely than |z_i| ≤ w, since z_i is symmetric and nothing is likelier than 0. So of K
  counts no more lie within w of 0 than of K independent draws with the chance q = P(|z| ≤ w): h or more of them with a
  chance of at most e^(−K·D), D = a ln(a/q) + (1 − a) ln((1 − a)/(1 − q)), a = h/K (Chernoff). That shows noise which is
  smaller than stated where most cells are nearly empty; where all have many people, nothing does.

Where large counts only are told, none of them is below the threshold that ε₀ and δ₀ ask for.
"""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.distribution.noise import LEAST_TOLD, Noise, threshold_for
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.noisy_bounds import largest_noise

IMPLAUSIBLE = 1e-15
"""Noise that is this unlikely was none."""
NOT_SO_MANY = "the noisy counts do not add up to the number of people, noise or not"
OUTSIDE = "a noisy count is too far below 0, or above the number of people, for noise of the stated size"
ALIKE = "more noisy counts are near 0 than noise of the stated size leaves there"
TOO_SMALL = "a noisy count is told that does not reach the threshold of the stated ε₀ and δ₀"
TOO_FEW = "the noisy counts that are told are of less than half of the people"


def check_stated_noise(noise: Noise) -> None:
    """Refuse counts that noise of the stated size does not make of as many people as stated."""
    flaw = _flaw_in_all(noise) if noise.codes is None else _flaw_in_large(noise)
    if flaw is not None:
        raise InvalidProtocol(flaw)


def _flaw_in_all(noise: Noise) -> str | None:
    """Of counts of all combinations."""
    counts, k = noise.counts, noise.counts.size
    alone, whole = largest_noise(np.array([1, k]), noise.scale, IMPLAUSIBLE / k).tolist()
    if abs(int(counts.sum()) - noise.people) > whole:
        return NOT_SO_MANY
    if counts.min() < -alone or counts.max() > noise.people + alone:
        return OUTSIDE
    return ALIKE if _too_many_near_zero(noise) else None


def _too_many_near_zero(noise: Noise) -> bool:
    """Whether noise leaves so many counts near 0 with a chance of IMPLAUSIBLE at most, at some distance."""
    k, alpha = noise.counts.size, math.exp(-1 / noise.scale)
    distances = [0, *(2**i - 1 for i in range(1, 1 + math.ceil(math.log2(1 + noise.scale))))]
    for w in distances:
        share, q = float((np.abs(noise.counts) <= w).mean()), 1 - 2 * alpha ** (w + 1) / (1 + alpha)
        if share > q and k * _divergence(share, q) > math.log(len(distances) / IMPLAUSIBLE):
            return True
    return False


def _divergence(a: float, q: float) -> float:
    """A ln(a/q) + (1 − a) ln((1 − a)/(1 − q)), for a > q.

    >>> _divergence(1.0, 0.5) == math.log(2)
    True
    """
    return a * math.log(a / q) + ((1 - a) * math.log((1 - a) / (1 - q)) if a < 1 else 0.0)


def _flaw_in_large(noise: Noise) -> str | None:
    """Of counts of which large ones only are told: noise of one cell among at most as many as there are people."""
    told = noise.counts[noise.counts > 0]
    if (noise.counts.max(axis=0) <= 0).any() or told.min() < threshold_for(noise.epsilon, noise.delta):
        return TOO_SMALL
    alone = float(largest_noise(np.array([1]), noise.scale, IMPLAUSIBLE / noise.people)[0])
    if float(told.sum()) > noise.people + alone * told.size:
        return NOT_SO_MANY
    return TOO_FEW if noise.share_told < LEAST_TOLD else None
