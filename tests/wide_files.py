"""Small model files for tests: people who are made up, noisy tables of them, and what follows from these."""

import json
from dataclasses import replace

import numpy as np

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.distribution.gaussian import GaussianNoise, noise_for
from privacyfunnel.distribution.laplace_split import LaplaceNoise, LaplaceSplit
from privacyfunnel.distribution.marginals import Marginals, all_pairs, all_tables
from privacyfunnel.optimiser.wide.listing import listed_for
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.protocols.json_file import digest_of_content, written
from privacyfunnel.protocols.wide.by_model import ByModel, plan_by
from privacyfunnel.protocols.wide.listed import ListRule
from privacyfunnel.protocols.wide.noisy_tables import variances
from privacyfunnel.protocols.wide.of_model import of_model

SIZES = (3, 2, 4)


def gaussian(columns=3, epsilon=1.0, level=0.3, choosing=0.0):
    """As much Gaussian noise as a fit of so many columns takes."""
    return noise_for(len(all_tables(columns)), epsilon, 1e-6, level, choosing)


def people_like(rng, secrets=2, sizes=SIZES, people=20_000):
    """Counts of people in whom columns go with the secret and with each other."""
    likely = np.ones((secrets, *sizes))
    for own in all_tables(len(sizes)):
        shape = [size if j in own else 1 for j, size in enumerate(sizes)]
        likely = likely * rng.uniform(0.2, 1, (secrets, *shape))
    return rng.multinomial(people, (likely / likely.sum()).ravel()).reshape(secrets, *sizes)


def summed(counts, own):
    """The table of some columns."""
    return counts.sum(axis=tuple(j + 1 for j in range(counts.ndim - 1) if j not in own))


def noisy_tables(rng, counts, noise, epsilon=1.0):
    """Tables of these people, with noise by NumPy that has the law of the real one."""
    columns = counts.ndim - 1
    if isinstance(noise, LaplaceNoise):
        split = LaplaceSplit.of(columns, noise.left(epsilon))
        owns = [*((j,) for j in range(columns)), *all_pairs(columns)[: split.pairs]]
        qs = {1: np.exp(-split.for_single / 2), 2: np.exp(-split.for_pair / 2)}
        drawn = {
            own: summed(counts, own) + np.subtract(*rng.geometric(1 - qs[len(own)], (2, *summed(counts, own).shape)))
            for own in owns
        }
    else:
        drawn = {own: summed(counts, own) for own in all_tables(columns)}
        if isinstance(noise, GaussianNoise):
            drawn = {own: table + with_sigma(rng, noise.sigma, table.shape) for own, table in drawn.items()}
    return Marginals.of(int(counts.sum()), counts.shape[1:], drawn, *variances(noise, epsilon, columns))


def with_sigma(rng, sigma, shape):
    """Whole numbers that are Gaussian, but for their rounding."""
    return np.rint(rng.normal(0, sigma, shape)).astype(np.int64)


def protocol_of(tables, noise, notion, epsilon=1.0, *, listed=False):
    """What follows from noisy tables, as a fit makes it."""
    model, sizes = fitted_model(tables), tables.sizes
    weights, secrets = model.weights(), model.n_s
    rule = (rule_for if secrets == 2 else mixing_rule_for)(notion.limits, weights, sizes)
    plan = plan_by(rule, weights, sizes)
    names = [chr(ord("a") + j) for j in range(len(sizes))]
    columns = tuple(
        Column(name=name, kind="integer", labels=tuple(range(k))) for name, k in zip(names, sizes, strict=True)
    )
    better = listed_for(notion, notion.limits, plan, columns) if listed else None
    if better is not None:
        plan, rule = better, ListRule.of(better.listed, secrets, plan.W.size)
    reading = Column(name="ill", kind="integer", labels=tuple(range(secrets))).reading()
    step = ByModel(columns, tables, model, rule, epsilon, noise, declared=True, groups=plan.digest())
    return of_model(notion, step, "ill", (reading,))


def wide_protocol(noise=None, notion=None, secrets=2, seed=1, *, sizes=SIZES, listed=False):
    """A fit of made-up people with ε₀ = 1, by Laplace noise unless another is given."""
    rng, notion = np.random.default_rng(seed), notion or pf.LIP(0.3)
    noise = LaplaceNoise() if noise is None else noise
    tables = noisy_tables(rng, people_like(rng, secrets, sizes), noise)
    return protocol_of(tables, noise, notion, listed=listed)


def with_step(protocol, **changes):
    """The protocol with other parts of its model, whatever else it says."""
    return replace(protocol, step=replace(protocol.by_model, **changes))


def resealed(text, **changes):
    """The file with other entries, each named by the way to it with two underscores, under a right digest."""
    content = json.loads(text)
    content.pop("digest")
    for path, value in changes.items():
        *way, last = path.split("__")
        place = content
        for step in way:
            place = place[int(step) if step.isdigit() else step]
        place[int(last) if last.isdigit() else last] = value
    return sealed(content)


def sealed(content):
    """The text of a file with this content, under a right digest."""
    content.pop("digest", None)
    return written({**content, "digest": digest_of_content(content)})
