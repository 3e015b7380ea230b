"""What can be promised."""

from __future__ import annotations

from typing import Annotated, Literal

from privacyfunnel.spec.key import AtLeastZero, Between, ByValue, Count, Key, ListsOfNames, Names, Share, Table, Text
from privacyfunnel.spec.of_table import OfTable

USUAL_LEVEL = 0.5
"""ε, where none is given: beliefs change by at most 65%."""


class OfPromise(OfTable):
    """What can be promised."""

    notion: Annotated[
        Text | Table[Text] | None,
        Key(
            "The kind of promise: lip (the default), ldp, alip, pml, perfect, srlip, srldp or belief; or one for each "
            "of several secrets.",
            "promise", "a kind of promise, or one for each secret", ("lip", {"income": "lip", "illness": "ldp"}),
            shown=True, also=("promise",), label="What may change", drawn=True,
        ),
    ] = None  # fmt: skip
    epsilon: Annotated[
        AtLeastZero | ByValue[AtLeastZero] | None,
        Key(
            "ε: beliefs change by at most the factor e^ε. One for each of several secrets, or for each value of one; "
            "with notion = belief the most belief in values.",
            "promise", "a number from 0 on, or one for each", (0.5, {"ill": 0.1, "well": 1.0}), shown=True,
            label="How far: ε", drawn=True,
        ),
    ] = None  # fmt: skip
    known: Annotated[
        Count | Names | Table[Count | Names] | None,
        Key(
            "For srlip, srldp: attackers know at most this many columns, or some of these; or one of both for each of "
            "several secrets.",
            "promise", "a number of columns, names of columns, or one of these for each secret",
            (2, ("age", "sex"), {"income": 2, "illness": ("age", "sex")}), shown=True, joined="+,",
            label="Attackers may know", drawn=True,
        ),
    ] = None  # fmt: skip
    confidence: Annotated[
        Between | None,
        Key(
            "Keep the promise for the population, too, at this confidence: the table is a sample.",
            "promise", "a number between 0 and 1", (0.95,), shown=True, label="At which confidence", drawn=True,
        ),
    ] = None  # fmt: skip
    lower: Annotated[
        AtLeastZero | None,
        Key(
            "For alip: ε for beliefs that fall.", "promise", "a number from 0 on", (0.5,), label="ε of falling beliefs"
        ),
    ] = None
    upper: Annotated[
        AtLeastZero | None,
        Key(
            "For alip: ε for beliefs that grow.", "promise", "a number from 0 on", (1.0,), label="ε of growing beliefs"
        ),
    ] = None
    keep: Annotated[
        Share | None,
        Key(
            "Instead of ε: the share to keep, of cells or of information; finds the smallest ε.",
            "promise", "a share above 0 and at most 1", (0.9,), label="Keep at least", drawn=True,
        ),
    ] = None  # fmt: skip
    error: Annotated[
        Table[Between] | None,
        Key(
            "Instead of ε: the standard error that shares of a column may have; finds the smallest ε.",
            "promise", "for each column a standard error between 0 and 1", ({"town": 0.01},), label="Standard errors",
        ),
    ] = None  # fmt: skip
    ordered: Annotated[
        bool | None,
        Key(
            "Promise on which side of a border between two ranges the secret lies, for every border, rather than each "
            "range: weaker, and cheaper.",
            "promise", "true or false", (True,),
            label="The secret is a number: promise on which side of a border it lies", drawn=True,
        ),
    ] = None  # fmt: skip
    per_range: Annotated[
        AtLeastZero | None,
        Key("With ordered: an ε for single ranges as well.", "promise", "a number from 0 on", (1.0,), drawn=True),
    ] = None
    within: Annotated[
        Literal["nested", "intervals"] | None,
        Key(
            "With confidence: bound chance by nested sets (the default for several columns) or intervals (the default "
            "for one).",
            "promise", "nested or intervals", ("nested",), label="How chance is bounded", drawn=True,
        ),
    ] = None  # fmt: skip
    chain: Annotated[
        ListsOfNames | None,
        Key(
            "With nested sets: columns by which tables are cut, in this order; by default in every order.",
            "promise", "lists of columns", ((("sex", "town"),),),
        ),
    ] = None  # fmt: skip
