from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.remembered.identifiers import Identifiers

PEOPLE = ["17", "-5", "123456789012", "0"]


def macs(array):
    identifiers = Identifiers("id")
    persons = identifiers.read(array)
    identifiers.finish()
    return Mac(bytes(16)).of(persons, np.zeros(len(persons), dtype=np.int32)).tolist()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([int(person) for person in PEOPLE]),
        pa.array([17.0, -5.0, 123456789012.0, -0.0]),
        pa.array([Decimal(person) for person in PEOPLE], pa.decimal128(20, 2)),
        pa.array([Decimal(person) for person in PEOPLE], pa.decimal128(20, 0)),
        pa.array(PEOPLE).dictionary_encode(),
        pa.array(["x", *PEOPLE, "y"])[1:-1],
        pa.array(PEOPLE, pa.large_string()),
        pa.array(PEOPLE, pa.string_view()),
        pa.chunked_array([PEOPLE[:1], PEOPLE[1:]]),
    ],
    ids=lambda array: str(array.type),
)
def test_the_same_person_in_any_type_is_the_same(array):
    assert macs(array) == macs(pa.array(PEOPLE))


def test_unsigned_numbers_that_no_signed_one_holds_are_read():
    assert macs(pa.array([2**64 - 1], pa.uint64())) == macs(pa.array([str(2**64 - 1)]))


def test_texts_count_letter_by_letter():
    others = ["17", "017", " 17", "17 ", "17.0", "+17", "１７", "a", "A"]
    assert len({tuple(row) for row in macs(pa.array(others))}) == len(others)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (pa.array(["", "a", None]), "2 rows have no entry"),
        (pa.array([1.0, None, float("nan")]), "2 rows have no entry"),
        (pa.array([1, None]), "1 rows have no entry"),
        (pa.nulls(3), "3 rows have no entry"),
        (pa.array([1.5, 2.0, 1e300, float("inf"), float(2**53)]), "4 rows have no whole number"),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), "1 rows have no whole number"),
        (pa.array(["a" * 1001, "a" * 1000]), "1 rows have no whole number, or a text of over 1,000"),
        (pa.array([True]), "not bool"),
        (pa.array([0], pa.timestamp("s")), "not timestamp"),
        (pa.array([b"a"]), "not binary"),
    ],
    ids=str,
)
def test_rows_about_nobody_are_refused_with_their_number(array, words):
    with pytest.raises(InvalidTable, match=words):
        macs(array)
