"""Random protocol files, without a search: noisy counts, a channel, and a promise that it just keeps or just breaks."""

import json
import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column, bin_labels
from privacyfunnel.distribution.noise import Noise, noisy_joint, threshold_for
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.promises.several import Promises
from privacyfunnel.proof.certificate import certify, room_of
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.json_file import digest_of_content, written
from privacyfunnel.protocols.protocol import Protocol

DELTA = 1e-3
"""δ₀ of counts of which those above a threshold are told."""


def sealed(content):
    """The text of a file with this content, under a right digest."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    return written({**rest, "digest": digest_of_content(rest)})


def audited(text):
    """What the package itself says of a file."""
    try:
        return bool(certify(from_text(text)))
    except PrivacyFunnelError:
        return False


def noise_joint(counts, names, epsilon=1.0):
    """The distribution that follows from these counts, taken for noisy ones; axes are the secret's and columns'."""
    sizes, people = counts.shape[1:], int(counts.sum())
    columns = tuple(Column(name=n, kind="integer", labels=tuple(range(k))) for n, k in zip(names, sizes, strict=True))
    return noisy_joint(Noise(epsilon, people, tuple(names), counts.reshape(len(counts), -1)), columns, "S")


def column(rng, name):
    """A column of some kind, with a missing value or others now and then."""
    size = int(rng.integers(1, 5))
    kind = rng.choice(["text", "integer", "number", "bins", "year"])
    if kind == "bins":
        edges = tuple(range(size + 1))
        labels = bin_labels(edges) + ((None,) if rng.random() < 0.3 else ())
        return Column(name=name, kind="bins", edges=edges, labels=labels)
    each = rng.permutation(9)[:size].tolist()
    labels = {
        "text": map(str, each),
        "integer": each,
        "number": [x / 4 for x in each],
        "year": [f"200{x}" for x in each],
    }
    other = bool(rng.random() < 0.2)
    more = (*(("other",) if other else ()), *((None,) if rng.random() < 0.3 else ()))
    return Column(name=name, kind=kind, labels=(*labels[kind], *more), other=other)


def noise_of(rng, columns, secrets):
    """Noisy counts of people who are made up: of all combinations, or of those that are told."""
    cells, epsilon = math.prod(map(len, columns)), float(rng.choice([0.5, 1.0, 5.0]))
    people = int(rng.choice([60, 400, 5_000]))
    likely = rng.dirichlet(np.full(secrets * cells, rng.choice([0.3, 3.0])))
    if rng.random() < 0.15:
        likely[: cells - 1] *= 1e-4  # hardly anybody has the first secret
    counts = rng.multinomial(people, likely / likely.sum()).reshape(secrets, cells)
    counts = counts + np.subtract(*rng.geometric(1 - math.exp(-epsilon / 2), (2, *counts.shape)))
    names = tuple(one.name for one in columns)
    if rng.random() < 0.7:
        return Noise(epsilon, people, names, counts)
    least = threshold_for(epsilon, DELTA)
    counts_told = np.where(counts < least, 0, counts)
    told = np.flatnonzero(counts_told.any(axis=0))
    if 2 * counts_told.sum() < people:
        return Noise(epsilon, people, names, counts)
    codes = np.stack(np.unravel_index(told, [len(one) for one in columns]), axis=1).astype(np.int64)
    return Noise(epsilon, people, names, counts_told[:, told], codes, DELTA)


def promise_of(rng, secrets, names):
    """Any kind of promise about so many numbered values of the secret."""
    e, f = (float(x) for x in rng.uniform(0.2, 1.5, 2))
    plain = [pf.LIP(e), pf.LDP(e), pf.PML(e), pf.ALIP(e, f)]
    levels = [(s, float(x)) for s, x in enumerate(rng.uniform(0.2, 1.5, secrets))]
    known = [None, 1, [names[0]]][rng.integers(3)]
    if secrets == 4 and rng.random() < 0.3:
        first, second = (plain[i] for i in rng.permutation(4)[:2])
        return Promises.of((("ill", first), ("poor", second)), (2, 2))
    return [
        *plain,
        pf.SRLIP(e, known=known),
        pf.SRLDP(e, known=known),
        [pf.LIP, pf.PML][rng.integers(2)](dict(levels)),
        pf.SRLIP(dict(levels), known=known),
        replace(pf.Ordered(plain[rng.integers(4)]), unordered=(secrets - 1,) if rng.random() < 0.3 else ()),
        pf.Ordered(pf.LDP(e), per_value=pf.LIP(f)),
        replace(pf.Belief({0: 0.9, 1: 0.8}), places=(0, 1)),
        pf.PerfectPrivacy(),
    ][rng.integers(12)]


def channel_of(rng, n, outputs, stay):
    """P(y|x) near to the same for all x, in units; `stay` says how far it may be from that."""
    Q = (1 - stay) * rng.dirichlet(np.full(outputs, 2.0))[:, None] + stay * rng.dirichlet(np.full(outputs, 0.3), n).T
    if rng.random() < 0.2:
        Q = Q * (Q > 0.05)
        Q[0] += Q.sum(axis=0) == 0
    N = np.floor(Q / Q.sum(axis=0) * UNIT).astype(np.int64)
    N[N.argmax(axis=0), np.arange(n)] += UNIT - N.sum(axis=0)
    return N


def scaled(notion, level, share):
    """The promise at a share of the level that was reached."""
    if isinstance(notion, pf.Belief):
        most = {value: min(0.999999, max(1e-6, own * share * level / notion.epsilon)) for value, own in notion.most}
        return replace(pf.Belief(most), places=notion.places)
    return notion if notion.epsilon == 0 else notion.times(max(1e-6, share * level / notion.epsilon))


SHARES = (0.5, 0.99, 1 - 1e-9, 1 + 1e-9, 1.01, 2.0)


def random_protocol(rng):
    """A private fit as nobody would have found it; None if nothing can be fitted on its counts."""
    names = ["a", "b", "c"][: rng.integers(1, 4)]
    columns = tuple(column(rng, name) for name in names)
    secrets, at_least = int(rng.integers(2, 5)), int(rng.choice([0, 0, 5, 20]))
    exact = (names[0],) if rng.random() < 0.15 else ()
    noise, notion = noise_of(rng, columns, secrets), promise_of(rng, secrets, names)
    try:
        joint = noisy_joint(noise, columns, "S", at_least, exact=exact)
    except PrivacyFunnelError:
        return None
    whole = joint.before_gathering or joint
    joint.numbered = whole.numbered = True
    n = joint.n_x
    if exact:
        own = joint.codes[:, 0]
        N = np.zeros((n, n), dtype=np.int64)
        for value in np.unique(own):
            at = np.flatnonzero(own == value)
            N[np.ix_(at, at)] = channel_of(rng, len(at), len(at), 10.0 ** rng.uniform(-3, 0))
        labels = np.arange(n)
    else:
        b = int(rng.integers(1, n + 1))
        N, labels = channel_of(rng, n, b, 10.0 ** rng.uniform(-3, 0)), rng.permutation(n)[:b]
    channel = Channel.from_numerators(N)
    marginal = coarse_marginal(np.full(channel.n_outputs, 1 / channel.n_outputs), None)
    order = rng.permutation(n) if rng.random() < 0.2 else np.arange(n)
    codes, labels = joint.codes[order], np.argsort(order)[labels]
    channel = Channel.from_numerators(N[:, order])
    block = Block(columns, codes, channel, labels, marginal, None, True, None, exact)
    made = Protocol(
        notion, block, 0.1, 0.2, 1.0, "by chance", "S", (), fitted="private counts", people=noise.people,
        at_least=at_least, noise=noise,
    )  # fmt: skip
    level = certify(made, whole).level
    if math.isfinite(level) and level > 0:
        made = replace(made, notion=scaled(notion, level, SHARES[rng.integers(len(SHARES))]))
    return with_draw(rng, made, whole) if not exact and rng.random() < 0.5 else made


def with_draw(rng, made, whole):
    """With a draw for values never seen that keeps the promise, if there is one, or that breaks it by a unit."""
    room = room_of(made, whole)
    draw = np.maximum(room.least, 0).copy()
    left = UNIT - int(draw.sum())
    if room.empty() or left < 0:
        return made if rng.random() < 0.7 else replace(made, step=replace(made.block, draw=made.block.marginal))
    for y in rng.permutation(len(draw)):
        more = min(left, int(room.most[y] - draw[y]))
        draw[y], left = draw[y] + more, left - more
    if left:
        return made
    if rng.random() < 0.3 and len(draw) > 1:
        y, z = rng.permutation(len(draw))[:2]
        if draw[z] > 0:
            draw[y], draw[z] = draw[y] + 1, draw[z] - 1
    return replace(made, step=replace(made.block, draw=draw))


def moved(step, x, units):
    """So many units of column x from its first output to its second."""
    own = step["channel"][x]
    if len(own) > 3:
        own[1], own[3] = own[1] - units, own[3] + units


def forgeries(rng):
    """Ways to forge or break a file, each by its name."""
    n, k = (lambda size: int(rng.integers(size))), int(rng.choice([1, 2, 2**10, 2**22, 2**29]))
    weird = [None, True, -1, 0, 1, 1.5, "1", [], {}, 2**70, 2**32][n(11)]
    return {
        "nothing": lambda c, s: None,
        "units moved": lambda c, s: moved(s, n(len(s["channel"])), k),
        "units moved back": lambda c, s: moved(s, n(len(s["channel"])), -k),
        "a unit more": lambda c, s: s["channel"][n(len(s["channel"]))].__setitem__(1, k),
        "columns of the channel swapped": lambda c, s: s["channel"].reverse(),
        "a noisy count": lambda c, s: c["noise"]["counts"][0].__setitem__(0, c["noise"]["counts"][0][0] + n(9) - 4),
        "many more people": lambda c, s: c["noise"]["counts"][0].__setitem__(0, 10**6),
        "other people": lambda c, s: (c.update(people=c["people"] + n(3)), c["noise"].update(people=c["people"])),
        "another threshold": lambda c, s: c.update(at_least=n(30)),
        "another noise": lambda c, s: c["noise"].update(epsilon=float(rng.choice([0.0, 0.1, 1.0, 2.0, 60.0]))),
        "another δ": lambda c, s: c["noise"].update(delta=float(rng.choice([0.0, 1e-6, 0.5]))),
        "a value gone": lambda c, s: (s["values"].pop(), s["channel"].pop()),
        "a value twice": lambda c, s: s["values"].__setitem__(0, s["values"][-1]),
        "values swapped": lambda c, s: s["values"].reverse(),
        "nothing is near": lambda c, s: s.update(nearest=False),
        "a secret gone": lambda c, s: c["noise"]["counts"].pop(),
        "an output more": lambda c, s: s.update(outputs=s["outputs"] + 1),
        "a label twice": lambda c, s: s["labels"].__setitem__(0, s["labels"][-1]),
        "a draw of one": lambda c, s: s.update(draw=[UNIT, *[0] * (s["outputs"] - 1)]),
        "the marginal a unit off": lambda c, s: s["marginal"].__setitem__(0, s["marginal"][0] + 1),
        "another order": lambda c, s: c["noise"]["attributes"].reverse(),
        "public counts": lambda c, s: c.update(fitted="exact counts"),
        "half the promise": lambda c, s: halved(c["promise"]),
        "weird channel": lambda c, s: s["channel"][0].__setitem__(n(2), weird),
        "weird counts": lambda c, s: c["noise"]["counts"][0].__setitem__(0, weird),
        "weird values": lambda c, s: s["values"][0].__setitem__(0, weird),
        "weird outputs": lambda c, s: s.update(outputs=weird),
        "weird people": lambda c, s: (c.update(people=weird), c["noise"].update(people=weird)),
        "weird threshold": lambda c, s: c.update(at_least=weird),
        "weird lists": lambda c, s: s.update({["channel", "labels", "marginal", "values"][n(4)]: weird}),
        "weird noise": lambda c, s: c["noise"].update({["counts", "attributes", "epsilon", "delta"][n(4)]: weird}),
        "weird ε": lambda c, s: c["promise"].update(epsilon=weird) if "epsilon" in c["promise"] else None,
    }


def halved(promise):
    """All levels of a promise halved, in place."""
    for key, value in promise.items():
        if isinstance(value, dict):
            halved(value)
        elif key in ("epsilon", "lower", "upper") and isinstance(value, float):
            promise[key] = value / 2


def forged(rng, text):
    """A file after a random change, under a right digest and with a guarantee that says what it promises."""
    content, ways = json.loads(text), forgeries(rng)
    name = list(ways)[rng.integers(len(ways))] if rng.random() < 0.8 else "nothing"
    try:
        ways[name](content, content["chain"][0])
    except (TypeError, LookupError):  # there is nothing to change
        return text
    with suppress(PrivacyFunnelError, TypeError, ValueError):
        content["guarantee"] = notion_from(content["promise"]).words()
    return sealed(content)


def at_the_border(protocol, kept):
    """The channel with so many units of one column moved that the promise just holds, and with one unit more.

    `kept` says whether a protocol keeps it; None if no unit can be moved, or all of them.
    """
    dense = np.zeros((protocol.block.channel.n_outputs, protocol.block.channel.n_inputs), dtype=np.int64)
    dense[protocol.block.channel.outputs, protocol.block.channel.inputs] = protocol.block.channel.numerators

    def after(units):
        N = dense.copy()
        N[0, 0], N[1, 0] = N[0, 0] - units, N[1, 0] + units
        return replace(protocol, step=replace(protocol.block, channel=Channel.from_numerators(N), draw=None))

    low, high = 0, int(dense[0, 0])
    if len(dense) < 2 or not kept(after(0)) or kept(after(high)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(after(middle)) else (low, middle)
    return to_text(after(low)), to_text(after(high))


def plain_noise(noise):
    """Noisy counts as a file has them."""
    codes = noise.codes.tolist() if noise.codes is not None else None
    content = {"of": "cells", "epsilon": noise.epsilon, "delta": noise.delta, "people": noise.people, "declared": False}
    return content | {
        "choosing": 0.0, "attributes": list(noise.attributes), "combinations": codes, "counts": noise.counts.tolist(),
    }  # fmt: skip


MOST_VALUES = 8
"""Of X in a follow-up: every history has a channel for each of them."""


def random_follow_up(rng, first):
    """The text of a file of one or two releases after `first`, of its columns and perhaps one more."""
    content = json.loads(to_text(first))
    secrets, more = len(first.noise.counts), rng.random() < 0.5
    if first.block.channel.n_inputs > MOST_VALUES:
        return None
    columns = (*first.columns, *([column(rng, "z")] if more else []))
    noise, at_least = noise_of(rng, columns, secrets), int(rng.choice([0, 5]))
    try:
        joint = noisy_joint(noise, columns, "S", at_least)
    except PrivacyFunnelError:
        return None
    if joint.n_x > MOST_VALUES:
        return None
    dense = first.block.channel.dense()
    past = {(): np.ones(joint.n_x)}
    read = first.block.read(joint.codes[:, : len(first.columns)])
    given = {(): {x: dense[:, i] for x, i in enumerate(read.tolist()) if i >= 0}}
    for _ in range(1 if rng.random() < 0.7 else 2):
        past = {
            (*h, y): np.array([own[x] * given[h][x][y] if x in given[h] else 0 for x in range(joint.n_x)])
            for h, own in past.items()
            for y in range(len(next(iter(given[h].values()), [])))
        }
        past = {h: own for h, own in past.items() if own.any() and rng.random() > 0.02}
        if not past:
            return None
        content = next_release(rng, content, columns, joint, noise, at_least, past, given := {})
    try:
        certificate = certify(from_text(sealed(content)))
    except PrivacyFunnelError:
        return sealed(content)
    if 0 < certificate.level < math.inf:
        notion = notion_from(content["promise"])
        notion = scaled(notion, certificate.level, SHARES[rng.integers(len(SHARES))])
        content |= {"promise": notion.as_dict(), "guarantee": notion.words()}
    return sealed(content)


def next_release(rng, before, columns, joint, noise, at_least, past, given):
    """The content of a file after `before`; `given` is filled with what it draws for every history and value."""
    inputs, channel, marginal = [], [], []
    for h, own in past.items():
        can = [x for x in np.flatnonzero(own).tolist() if rng.random() > 0.005]
        N = channel_of(rng, max(1, len(can)), joint.n_x, 10.0 ** rng.uniform(-2, 0))
        given[h] = {x: N[:, i] / UNIT for i, x in enumerate(can)}
        inputs.append(can)
        channel += [[k for y in np.flatnonzero(N[:, i]).tolist() for k in (y, int(N[y, i]))] for i in range(len(can))]
        marginal += [1] * int((N[:, : len(can)] > 0).any(axis=1).sum())
    marginal = coarse_marginal(np.array(marginal) / len(marginal), None).tolist()
    step = {"step": "by_history", "columns": [one.model_dump() for one in columns], "values": joint.codes.tolist()}
    step |= {"nearest": True, "histories": [list(h) for h in past], "inputs": inputs}
    step |= {"channel": channel, "marginal": marginal}
    changed = {"people": noise.people, "at_least": at_least, "noise": plain_noise(noise), "chain": [step]}
    return json.loads(sealed({**before, **changed, "before": before}))
