"""The best protocol for a promise over a confidence set: column generation in which rows are generated, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.generation.branch import Tree
from privacyfunnel.optimiser.generation.pricing import (
    WORTH_ADDING,
    WORTH_FINDING,
    descend,
    distinct,
    extremes,
    local_search,
    reduced_cost,
)
from privacyfunnel.optimiser.generation.search import USED_STARTS, starting_points
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.robust.conditions import Conditions
from privacyfunnel.optimiser.robust.demands import demands_of
from privacyfunnel.optimiser.robust.inside_and_outside import bound_by_revealing, listed_inside
from privacyfunnel.optimiser.robust.nested_programs import best_pairs, corners, descents
from privacyfunnel.optimiser.robust.nested_search import RANDOM_STARTS
from privacyfunnel.optimiser.robust.oracle import RobustOracle
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.promises.notion import Notion
from privacyfunnel.typing import Matrix, Vector

if TYPE_CHECKING:
    from privacyfunnel.optimiser.robust.nested_search import NestedSearch

BOXES = 200
"""Boxes cut before what was met in them gives rows: with these, fewer boxes need be cut."""
MATRICES = 50
"""Dense matrices of all values by all values that a search holds at most."""
MOST_BYTES = 12 * 2**30
"""Of memory for a search: half of what a large laptop has."""
PROVABLE = 60
"""Up to this many values, optima are proven by branch and bound; beyond, that takes far longer than finding them."""
PROVABLE_IN_TIME = 150
"""Up to this many it is tried if there is a time limit."""


def region_of(joint: Joint, notion: Notion) -> Region:
    """Δ over the confidence set of the counts of `joint`; refused if searching it would take too much memory."""
    size = 8 * MATRICES * joint.n_x**2
    if size > MOST_BYTES:
        needed = f"would take some {size / 2**30:,.0f} GiB, more than {MOST_BYTES >> 30}"
        raise InvalidPromise(
            f"a confidence about {joint.n_x:,} combinations of values {needed}; fit fewer columns, wider "
            "ranges or fewer values (bins, top)"
        )
    return Region(demands_of(notion, joint), joint.p_x)


def generate_over(joint: Joint, notion: Notion, region: Region, state: State, start: Columns | None = None) -> str:
    """Posteriors and rows are generated until no posterior that keeps the promise undercuts its price.

    The linear programs know only the rows met so far. A posterior is accepted if no row of the whole set cuts it off,
    so what is found keeps the promise; bounds are proven over a superset of Δ, so they are bounds. `start` are
    posteriors that keep the promise for the counts alone: drawn in until they keep it, they are good to begin with.
    """
    conditions = Conditions.of(region)
    if conditions is not None:
        (clause,) = notion.clauses(joint)
        return _generate_nested(clause.joint, region, conditions, state)
    oracle = RobustOracle(region, state.stopped)
    rng = np.random.default_rng(0)
    master = Master(joint.p_x)
    _begin(joint, notion, region, state, master, start)
    several = Conditions.of_all(region) if len(region.demands) > 1 else None
    if several is not None:
        master.add(Columns.from_dense(region.draw_in(distinct(corners(several.p, several.K, several.M)))))
    largest: Vector | None = None
    provable = _provable(joint, state)
    rounds = proofs = 0
    while not state.stopped() and not state.closed():
        rounds += 1
        q, y, artificial = master.solve()
        if artificial <= 0:
            _keep(region, state, master, q)
        state.report()
        used = master.columns.take(np.flatnonzero(q > 0))  # half as many starts as without a set: each takes longer
        starts = starting_points(rng, used, joint.p_x, RANDOM_STARTS, USED_STARTS // 2)
        if several is not None:
            better = _compiled(several, y, starts, WORTH_FINDING * state.gap)
        else:
            better = local_search(oracle, y, starts, WORTH_FINDING * state.gap, state.stopped)
        if not len(better) and artificial <= 0 and provable and not state.stopped():
            if largest is None:
                better, largest = extremes(oracle)
            else:
                proofs += 1
                y = master.central_prices()
                better = _prove(oracle, y, largest, state)
                state.report()
        new = Columns.from_dense(region.draw_in(better))
        new = new.take(np.flatnonzero(new.entropy() - new.dot(y) < -WORTH_ADDING * state.gap))
        if len(new):
            master.add(new)
        elif artificial > 0:
            if not master.raise_penalty():
                break
        elif proofs or not provable or oracle.full:
            break
    _keep(region, state, master, master.solve_without_artificial())
    how = f"column generation over a confidence set: {rounds} rounds, {len(master.columns)} posteriors"
    return f"{how}, {len(oracle.G)} rows, {proofs} proofs by branch and bound"


def _compiled(conditions: Conditions, y: Vector, starts: Matrix, worth: float) -> Matrix:
    """Posteriors that undercut their prices, for several clauses about two events each."""
    from privacyfunnel.optimiser.robust.nested_search import pairs_of

    least, partner, share = best_pairs(y, conditions.sufficient)
    pairs = pairs_of(np.flatnonzero(least < -worth), partner, share, conditions.n_x)
    r, V = descents(starts, y, conditions.p, conditions.K, conditions.M)
    return distinct(np.concatenate([pairs, V[r < -worth]]))


def _generate_nested(joint: Joint, region: Region, conditions: Conditions, state: State) -> str:
    """The same for two secrets and one view, with linear programs over nested sets of values."""
    from privacyfunnel.optimiser.robust.nested_search import NestedSearch

    search = NestedSearch(joint, region, conditions, state)
    provable = _provable(joint, state)
    search.improve(patiently=provable or state.time_limit is not None)
    if provable:
        search.keep()  # a proof may take its time
        while search.prove():
            search.improve(patiently=True)
    if joint.n_x <= PROVABLE and not search.closed():
        _prove_by_boxes(region, search, state)
    search.keep()
    how = f"two secrets: mixtures of nested sets over a confidence set, {search.rounds} rounds"
    return f"{how}, {len(search.master.columns)} posteriors, {search.proofs} proofs by branch and bound"


def _prove_by_boxes(region: Region, search: NestedSearch, state: State) -> None:
    """Where branching on the largest values does not end, branch on all of them."""
    oracle = RobustOracle(region, state.stopped)
    largest = extremes(oracle)[1]
    while not state.stopped() and not search.closed():
        search.proofs += 1
        better = _prove(oracle, search.master.central_prices(), largest, state)
        if not len(better):
            break
        search.add(region.draw_in(better))
        search.improve(patiently=True)


def _provable(joint: Joint, state: State) -> bool:
    return joint.n_x <= (PROVABLE if state.time_limit is None else PROVABLE_IN_TIME)


def _prove(oracle: RobustOracle, y: Vector, largest: Vector, state: State) -> Matrix:
    """Bound min r over the rows met so far; posteriors that seem to improve give more rows, or do improve.

    After each pass over boxes, what was met with r < −gap is cut off by the row it oversteps, if there is one.
    """
    while not state.stopped():
        tree = Tree(oracle.rows(), y, largest, state.gap)
        while not state.stopped() and tree.grow(min(tree.step, BOXES)) and not tree.n_found:
            pass
        state.bound(y, tree.bound)
        met = distinct(tree.found[: tree.n_found].clip(0))
        if not len(met) or oracle.full:
            break
        if not oracle.add_rows_for(met):
            polished = [descend(oracle, y, v) for v in met]
            return np.array([v for v in polished if reduced_cost(v, y) < -state.gap]).reshape(-1, oracle.n_x)
    return np.empty((0, oracle.n_x))


def _begin(joint: Joint, notion: Notion, region: Region, state: State, master: Master, start: Columns | None) -> None:
    """A first bound, and posteriors to start from."""
    limits, views = notion.limits, notion.views(joint)
    if len(views) > 1 and region.demands:
        bound_by_views(notion.clauses(joint), state)  # the counts themselves are in the set
    if start is not None:
        master.add(Columns.from_dense(region.draw_in(start.dense(joint.n_x))))
    for part in region.sets if notion.simple else []:
        if not part.view.known and len(part.cells):  # an attacker who knows nothing
            bound_by_revealing(joint, part, limits, state)
            inside = listed_inside(part, limits, joint.p_x) if len(views) == 1 else None
            if inside is not None and len(inside):
                master.add(inside)
    # As likely as elsewhere, but for one value: together they always contain p_x.
    master.add(Columns.from_dense(region.draw_in(np.eye(joint.n_x))))
    _keep(region, state, master, master.solve_without_artificial())
    state.report()


def _keep(region: Region, state: State, master: Master, q: Vector) -> None:
    """Remember the mixture if every posterior in use keeps the promise over the whole set."""
    used = np.flatnonzero(q > 0)
    V = master.columns.take(used).dense(region.n_x)
    if not region.cuts(V)[1].any():
        state.keep(master.columns, q)
