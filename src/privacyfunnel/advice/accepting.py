"""Accepting: a counted table with the columns that were chosen, as finely as they were, and what choosing cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privacyfunnel.advice.choosing import PrivateDraws, choose, room_for_noise, room_for_people, until_there_is_room
from privacyfunnel.advice.people import People, Place
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.rows import unique_rows
from privacyfunnel.tables.counting import Counted

CHOOSING = 0.2
"""Of a private fit's ε₀, what choosing columns may spend: the counts get the rest."""


def accepted(counted: Counted, columns: bool, coarser: bool, private: float | None) -> tuple[Counted, float]:
    """The table with columns chosen, made coarser, or both; and how much of ε₀ that spent.

    By exact counts if there is no ε₀. Otherwise columns are drawn privately, for CHOOSING of it; ranges are made wider
    by the numbers of values and people alone, which costs nothing.
    """
    people = People.of(counted, coarser)
    fits = room_for_people(people) if private is None else room_for_noise(people, private)
    if not columns:
        return picked(counted, people, _all_of_them(people, until_there_is_room(people, fits))), 0.0
    if private is None:
        return picked(counted, people, _some(choose(people, fits))), 0.0
    spent = CHOOSING * private
    return picked(counted, people, _some(choose(people, fits, PrivateDraws(people.total, spent)))), spent


def _all_of_them(people: People, places: list[Place] | None) -> list[Place]:
    if places is None:
        raise InvalidInput(
            f"all {len(people.levels)} columns together are too fine even when they are coarse; let --columns auto "
            "choose some of them, or name fewer (--columns)"
        )
    return places


def _some(places: list[Place]) -> list[Place]:
    if not places:
        raise InvalidInput(
            "no column can be released with these people and this noise: each has too many values, or tells nothing; "
            "name some with --columns, or use --set coarsen=auto"
        )
    return places


def picked(counted: Counted, people: People, places: Sequence[Place]) -> Counted:
    """The counts of some of the columns, each at its level, in the order of the table."""
    places = sorted(places)
    joint = counted.joint
    codes = np.stack([people.level(place).of[joint.codes[:, place[0]]] for place in places], axis=1)
    different, of = unique_rows(codes)
    weights = np.zeros((joint.n_s, len(different)), dtype=joint.weights.dtype)
    np.add.at(weights.T, of, joint.weights.T)
    fitted = tuple(people.level(place).fitted for place in places)
    smaller = Joint.from_codes(
        weights,
        different,
        tuple(one.column for one in fitted),
        joint.secret,
        joint.secret_values,
        joint.secret_columns,
    )
    smaller.counted, smaller.declared = joint.counted, joint.declared
    smaller.chosen = tuple(one.column.name for one in (*counted.secrets, *fitted) if one.chosen)
    gone = [name for name in joint.attributes if name not in smaller.attributes]
    return replace(counted, joint=smaller, attributes=fitted, dropped=(*counted.dropped, *gone))
