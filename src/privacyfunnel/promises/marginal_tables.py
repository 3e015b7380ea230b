"""Marginal tables: which sums of shares a nested set makes a statement about.

Each is named by the attributes that its cells are told apart by. They are chosen by the attributes' names and number
alone, never by what was counted: a choice that depends on the people would have to be paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from privacyfunnel.errors import InvalidPromise

MOST_IN_EVERY_WAY = 6
"""Up to this many attributes, all of their marginal tables are used: 64. Each of twice as many has half the doubt."""
SMALL = 2
"""With more attributes, tables of so many of them, and those of the first, the first two, and so on."""


def marginal_tables(attributes: Sequence[str], chains: Sequence[Sequence[str]] = ()) -> list[tuple[int, ...]]:
    """The sets of attributes, by their numbers, whose tables are used; coarse ones first, all attributes last.

    A chain names attributes in an order: tables of the first, of the first two, and so on.

    >>> marginal_tables(["sex", "town", "age"], [["town", "sex"]])
    [(), (1,), (0, 1), (0, 1, 2)]
    """
    everything = tuple(range(len(attributes)))
    if chains:
        orders = [_numbers(chain, attributes) for chain in chains]
        found = {tuple(sorted(order[:k])) for order in orders for k in range(len(order) + 1)}
    elif len(attributes) <= MOST_IN_EVERY_WAY:
        found = {chosen for k in range(len(attributes) + 1) for chosen in combinations(everything, k)}
    else:
        found = {chosen for k in range(SMALL + 1) for chosen in combinations(everything, k)}
        found |= {everything[:k] for k in range(len(attributes) + 1)}
    return sorted(found | {everything}, key=lambda chosen: (len(chosen), chosen))


def tables_given(family: list[tuple[int, ...]], known: tuple[int, ...], n: int) -> list[tuple[int, ...]]:
    """The tables of a family for somebody who knows some of the attributes, without the one of a single cell."""
    left = {tuple(j for j in table if j not in known) for table in family}
    left.add(tuple(j for j in range(n) if j not in known))
    return sorted(left - {()}, key=lambda table: (len(table), table))


def _numbers(chain: Sequence[str], attributes: Sequence[str]) -> list[int]:
    for name in chain:
        if name not in attributes:
            raise InvalidPromise(f"a chain names {name!r}, which is none of the attributes")
    if len(set(chain)) < len(chain):
        raise InvalidPromise("a chain names an attribute twice")
    return [list(attributes).index(name) for name in chain]
