"""Composition: several blocks of attributes, each released by itself, with a promise for all of them together.

The level of a product is not the sum of its blocks' levels (docs/side-channels.md has two counterexamples),
so a product is promised only what its exact check finds. Blocks are found by one of four methods:

- chained: each block keeps its share of the limits given the outputs of the blocks before; the shares add up.
- tuned: the chain's budgets are scaled until the true level meets the promise, then each block in turn is made
  as good as the others leave room for; several splits and orders are tried.
- adaptive: what a block tells may depend on what the blocks before it told (`adaptive.py`); one channel comes back.
- paper: equal budgets, each block given the others' attributes; what it promises can be wrong, and is refused then.

With the objective "faithful", each block can be counted by itself: it is redrawn (`redrawing.py`), or better, solved
anew for the fewest changes (`fewest_changes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import permutations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.blocks.adaptive import AdaptiveSearch, factors_of_product
from privacyfunnel.optimiser.blocks.construction import (
    Build,
    RowsFor,
    chain,
    chained_rows,
    polished,
    scaled_chain,
    whole_rows,
)
from privacyfunnel.optimiser.blocks.fewest_changes import Chain, Countable
from privacyfunnel.optimiser.blocks.joint_outputs import Parts
from privacyfunnel.optimiser.blocks.product_posteriors import ProductPosteriors
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.faithful.redrawing import redrawn
from privacyfunnel.optimiser.faithful.search import Standing
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.program.exact_protocol import exact_protocol
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.rounding import SLACKS
from privacyfunnel.optimiser.program.state import Progress, State, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.adaptive_blocks import in_words
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Objective, Protocol, not_below
from privacyfunnel.protocols.released import kept

Method = Literal["tuned", "adaptive", "chained", "paper"]
ALL_ORDERS = 3
"""Up to so many blocks, every order is tried."""
Order = tuple[int, ...]
SEARCH_SECONDS = 60.0
"""For how long orders and splits are tried, unless told otherwise; a dozen attributes need longer than three."""
SPLITS = 6
"""Splits of the budget that are tried beside the equal one, drawn at random around the best."""
FIRST_SHARE = 0.4
"""Of the time, for the product that keeps the most information, from which a faithful or an adaptive one starts."""
MOST_OUTPUTS = 5_000
"""Of a product: with more of them, an adaptive search does not start from them all."""
CLOSE_ENOUGH = 1e-3
"""Fidelity: a faithful product this close to the bound is not made better."""
BOUND_SECONDS = 10.0
"""Time for an upper bound from single views."""
SHRINKS = (0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
"""By how much limits are drawn in, until the exact check passes."""


def compose(
    joint: Joint,
    notion: Notion,
    blocks: Sequence[Sequence[str]] | None = None,
    method: Method = "tuned",
    *,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    channels: Sequence[ArrayLike] | None = None,
    time_limit: float | None = SEARCH_SECONDS,
    progress: Callable[[Progress], None] | None = None,
) -> Protocol:
    """A protocol that releases blocks of attributes, each by itself, and keeps the promise as a whole.

    Without `blocks`, every attribute is one. One block with all attributes is the joint optimum, which keeps
    the most; products are for what is too large for it. The promise of what comes back was checked in exact
    arithmetic on the finished protocol. With the method "paper", a product whose true level
    exceeds the budget raises `NotCertified`, which says that level; its `channels` may be given. The search
    stops after `time_limit` seconds, or at Ctrl-C, with the best so far.

    With the method "adaptive", what a block tells may depend on what the blocks before it told. That keeps more, as
    one channel for all attributes: one block comes back, or the tuned product where that keeps as much.

    With the objective "faithful" the released values of each block have the distribution of the original ones, all
    attributes of that block together: counts, tables and models of columns of one block are right as they stand. What
    columns of different blocks have in common comes out too weak. `weights` says how much the cells of some attributes
    count in `fidelity`; no product with these blocks has more than `fidelity_bound`.

    >>> joint = Joint([[[30, 10], [5, 5]], [[10, 10], [5, 25]]])
    >>> protocol = compose(joint, SRLIP(0.5))
    >>> [block.attributes for block in protocol.blocks], certify(protocol, joint).holds
    ([('X1',), ('X2',)], True)
    """
    if isinstance(notion, Notion) and not notion.simple:
        raise InvalidPromise("blocks share one promise about one secret; release the columns in one block")
    names = _check(joint, notion, blocks, method, channels, time_limit)
    _check_objective(joint, objective, weights, method)
    if len(names) == 1 and channels is None:
        whole = optimise(joint, notion, objective=objective, weights=weights, time_limit=time_limit, progress=progress)
        return replace(whole, how=f"one block: {whole.how}")
    with interruptible() as interrupted:
        counted = Standing.begun(CLOSE_ENOUGH, time_limit, progress, interrupted) if objective == "faithful" else None
        if counted is not None:  # what goes by information is only a start, and tells nats
            time_limit, progress = None if time_limit is None else FIRST_SHARE * time_limit, None
        state = State(joint.p_x, joint.entropy, 0.0, time_limit, progress, interrupted)
        task = _Task(Parts(joint, names, notion.views(joint)), notion, state, objective, weights)
        if channels is not None:
            found, ways = task.kept_or_refused([Channel.from_dense(Q) for Q in channels]), None
        else:
            found, ways = getattr(task, method)(), method
        return found if counted is None else task.countable(found, counted, ways)


@dataclass(frozen=True, eq=False)
class _Task:
    """One call of `compose`."""

    parts: Parts
    notion: Notion
    state: State
    objective: Objective
    weights: Mapping[str, float] | None

    def tuned(self) -> Protocol:
        """The best of several orders and splits, each scaled to the true level and polished."""
        limits, stopped = self._limits, self.state.stopped
        nothing = best = Build.nothing(self.parts)
        starts: list[tuple[Callable[[], Build], Order]] = [(lambda: nothing, order) for order in self._orders()]
        starts += [(partial(self._scaled, shares, order), order) for shares, order in self._splits()]
        for start, order in starts:
            best = max(best, self._seen(polished(start(), limits, order, stopped)), key=Build.utility)
            if stopped():
                break
        return self._exact(best, range(len(self.parts)), whole_rows, "tuned product")

    def adaptive(self) -> Protocol:
        """The best mixture of outputs that are products over the blocks, or the tuned product if that keeps as much."""
        joint, state = self.parts.joint, self.state
        limit = None if state.time_limit is None else FIRST_SHARE * state.time_limit
        shorter = State(joint.p_x, joint.entropy, 0.0, limit, state.progress, state.interrupted)
        tuned = replace(self, state=shorter).tuned()
        try:
            polytope = Polytope.granted(joint, self.notion)
            products = ProductPosteriors(polytope, self.parts.inputs)
            first = factors_of_product([block.channel.dense() for block in tuned.blocks], MOST_OUTPUTS)
            columns, q = AdaptiveSearch(products, state).run(first)
            how = in_words(self.parts.blocks)
            found = exact_protocol(joint, polytope, columns, q, tuned.upper_bound, self.notion, how)
        except (InvalidPromise, NotCertified) as trouble:  # too many conditions, or limits finer than any rounding
            return replace(tuned, how=f"{tuned.how}; adaptive blocks were given up: {trouble}")
        equal = replace(tuned, how=f"{tuned.how}, which adaptive blocks equal")
        return found if found.utility > tuned.utility else equal

    def chained(self) -> Protocol:
        """The best chain with equal shares, among several orders."""
        shares = self._equal()
        tried = {order: self._seen(self._chain(shares, order)) for order in self._orders()}
        order = max(tried, key=lambda order: tried[order].utility())
        return self._exact(tried[order], order, partial(chained_rows, shares=shares, order=order), "chained product")

    def paper(self) -> Protocol:
        """Equal budgets, each block given what may be known of the others; refused unless that keeps the promise."""
        build, order = Build.nothing(self.parts), range(len(self.parts))
        rows = {b: chained_rows(self._limits, self._equal(), (b,)) for b in order}
        solved = [build.solved(b, rows[b], self.state.stopped) for b in order]
        return self.kept_or_refused([solved[b].rounded(b, rows[b], SLACKS[0])[1] for b in order])

    def kept_or_refused(self, channels: list[Channel]) -> Protocol:
        """The product of these channels, if it keeps the promise."""
        for channel, joint in zip(channels, self.parts.joints, strict=True):
            if channel.n_inputs != joint.n_x or channel.n_outputs > joint.n_x:
                name, shape = " × ".join(joint.attributes), (channel.n_outputs, channel.n_inputs)
                raise InvalidInput(
                    f"the channel of {name} needs {joint.n_x} columns and at most as many rows; got {shape}"
                )
        protocol = self._protocol(channels, range(len(channels)), "the paper's product of equal budgets")
        certificate = certify(protocol, self.parts.joint)
        if not certificate.holds:
            raise NotCertified(
                f"the product was to keep {self.notion} by the paper's budget theorem, but its true level is "
                f"{certificate.level:.9g}; use the method 'tuned' or 'chained'",
                level=certificate.level,
            )
        return self._finished(protocol)

    def countable(self, redrawn: Protocol, standing: Standing, method: Method | None) -> Protocol:
        """The best product that this method finds whose blocks can be counted, with the bound on all of these."""
        search = Countable(self.parts, self._limits, self.weights, standing)
        search.bound()
        chains = self._faithful_chains(method) if method is not None else ()
        return search.best(redrawn, chains, polish=method == "tuned")

    def _faithful_chains(self, method: Method) -> Iterator[Chain]:
        """What each block must keep, and in which order they are solved."""
        if method == "paper":
            own = {b: chained_rows(self._limits, self._equal(), (b,)) for b in range(len(self.parts))}
            yield (lambda b, build: own[b](b, build)), tuple(own)
            return
        ways = self._splits() if method == "tuned" else ((self._equal(), order) for order in self._orders())
        yield from ((chained_rows(self._limits, shares, order), order) for shares, order in ways)

    def _splits(self) -> Iterator[tuple[list[float], Order]]:
        """Splits of the budget, each with an order."""
        orders = list(self._orders())
        yield from ((self._equal(), order) for order in orders)
        rng = np.random.default_rng(0)
        for i in range(SPLITS):
            yield rng.dirichlet(np.full(len(self.parts), 3.0)).tolist(), orders[i % len(orders)]

    def _orders(self) -> Iterator[Order]:
        """All orders of few blocks; else as given, and by how much a block alone could tell."""
        blocks = range(len(self.parts))
        if len(self.parts) <= ALL_ORDERS:
            return permutations(blocks)
        most_first = tuple(sorted(blocks, key=lambda b: -self._alone[b]))
        return iter(dict.fromkeys([most_first, most_first[::-1], tuple(blocks)]))

    @cached_property
    def _alone(self) -> list[float]:
        """What is kept if a single block is released, with all of the budget."""
        nothing, rows = Build.nothing(self.parts), whole_rows(self._limits)
        return [nothing.solved(b, rows, self.state.stopped).utility() for b in range(len(self.parts))]

    def _equal(self) -> list[float]:
        return [1 / len(self.parts)] * len(self.parts)

    @property
    def _limits(self) -> Limits:
        return self.notion.limits.granted()

    def _chain(self, shares: list[float], order: Order) -> Build:
        return chain(self.parts, self._limits, shares, order, self.state.stopped)

    def _scaled(self, shares: list[float], order: Order) -> Build:
        return scaled_chain(self.parts, self._limits, shares, order, self.state.stopped)

    def _seen(self, build: Build) -> Build:
        """Tell how far things are."""
        self.state.utility = max(self.state.utility, build.utility())
        self.state.report()
        return build

    def _exact(self, build: Build, order: Sequence[int], rows_for: Callable[[Limits], RowsFor], how: str) -> Protocol:
        """Rounded block by block, each given the exact channels of those before it, until the exact check passes."""
        # Multiples of 2⁻³² may miss limits that are hardly above 0; releasing nothing meets any.
        for start, shrink in [*((build, shrink) for shrink in SHRINKS), (Build.nothing(self.parts), 0.0)]:
            rows, exact, channels = rows_for(self._limits.times(1 - shrink)), start, {}
            for b in order:
                exact, channels[b] = exact.rounded(b, rows, SLACKS[0])
            protocol = self._protocol([channels[b] for b in order], order, how)
            if certify(protocol, self.parts.joint).holds:
                return self._finished(protocol)
        raise NotCertified(f"no exact product was found that keeps {self.notion}; please report this")

    def _protocol(self, channels: list[Channel], order: Sequence[int], how: str) -> Protocol:
        """The blocks in this order, with their channels."""
        joint = self.parts.joint
        blocks = tuple(block_of(self.parts.joints[b], channel) for b, channel in zip(order, channels, strict=True))
        silent = [name for block in blocks if block.channel.n_outputs == 1 for name in block.attributes]
        how += f"; nothing is told of {', '.join(silent)}" if silent else ""
        seen, entropy = np.stack([self.parts.inputs[b] for b in order]), joint.entropy
        protocol = Protocol(self.notion, blocks, 0.0, entropy, entropy, how, joint.secret, joint.secret_readings, seen)
        utility = kept(protocol, joint)
        return replace(protocol, utility=utility, upper_bound=max(utility, no_less(entropy)))

    def _finished(self, protocol: Protocol) -> Protocol:
        """A protocol that keeps the promise: redrawn, or with the bound on all that do."""
        if self.objective == "faithful":
            return finished(redrawn(protocol, self.parts.joint, self.weights), [self.parts.joint])
        bounded = replace(protocol, upper_bound=not_below(self._upper_bound(), protocol.utility))
        return finished(bounded, [self.parts.joint])

    def _upper_bound(self) -> float:
        """What no protocol, product or not, can exceed: found from one view at a time, or H(X)."""
        joint = self.parts.joint
        bound = State(joint.p_x, joint.entropy, 0.0, BOUND_SECONDS, None, self.state.interrupted)
        bound_by_views(self.notion.clauses(joint), bound)
        return bound.upper_bound


def _check_objective(joint: Joint, objective: str, weights: Mapping[str, float] | None, method: str) -> None:
    if objective not in get_args(Objective):
        raise InvalidInput(f"the objective is one of {', '.join(get_args(Objective))}; got {objective!r}")
    if weights is not None and objective != "faithful":
        raise InvalidInput("weights of columns are for the objective 'faithful', which counts cells")
    if objective == "faithful" and method == "adaptive":
        raise InvalidInput(
            "the method 'adaptive' keeps information (objective 'information'); for rows that can be counted, use "
            "'tuned', or no blocks at all"
        )
    Similarity.of(joint, weights)


def _check(
    joint: Joint,
    notion: Notion,
    blocks: Sequence[Sequence[str]] | None,
    method: str,
    channels: Sequence[ArrayLike] | None,
    time_limit: float | None,
) -> tuple[tuple[str, ...], ...]:
    """The blocks, each attribute in exactly one, in the order of the joint's attributes."""
    check_task(joint, notion, 1.0, time_limit, None)
    if notion.confidence is not None:
        raise InvalidPromise("products of blocks are not optimised over a confidence set; use optimise, one block")
    if joint.at_least and (blocks is None or len(blocks) > 1):
        raise InvalidInput("at_least reads rare combinations of all columns as others, so it goes without blocks")
    if method not in get_args(Method):
        raise InvalidInput(f"method is one of {', '.join(get_args(Method))}, not {method!r}")
    names: tuple[tuple[str, ...], ...]
    if blocks is None:
        names = tuple((name,) for name in joint.attributes)
    elif isinstance(blocks, str) or any(isinstance(block, str) for block in blocks):
        raise InvalidInput('blocks are lists of attributes, such as [["age", "sex"], ["town"]]')
    else:
        names = tuple(tuple(block) for block in blocks)
    listed = [name for block in names for name in block]
    for name in listed:
        if name not in joint.attributes:
            raise InvalidInput(f"a block names {name!r}, which is none of the attributes")
    if len(set(listed)) < len(listed) or not all(names):
        raise InvalidInput("every block needs an attribute, and no attribute can be in two blocks")
    left = [name for name in joint.attributes if name not in listed]
    if left:
        raise InvalidInput(f"the blocks leave out {', '.join(left)}; every attribute needs a block")
    if channels is not None and (method != "paper" or len(channels) != len(names)):
        raise InvalidInput("channels are given for the method 'paper' only, one for each block")
    return tuple(tuple(sorted(block, key=joint.attributes.index)) for block in names)
