"""The steward's own shares in filled columns: the errors of one release are those that counting by hand finds."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from filled_people import filled, kept, people
from privacyfunnel.tables.fill import readings_of
from privacyfunnel.tables.own_filled import own_filled_of
from privacyfunnel.tables.sources import open_source


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def base(table, noise_with_seed):
    with noise_with_seed(3):
        return kept(table)


@pytest.fixture(scope="module")
def protocol(table, base, noise_with_seed):
    with noise_with_seed(3):
        return filled(table, base)


def measured(protocol, table, released):
    return own_filled_of(protocol, open_source(table), open_source(released), {})


def test_errors_of_labels_are_those_counted_by_hand(table, base, noise_with_seed):
    with noise_with_seed(3):
        protocol = filled(table, base, names=("job",))
    released = protocol.sanitise(table, seed=5)
    before, after = (Counter(one["job"].to_pylist()) for one in (table, released))
    errors = [abs(after[job] - count) / len(table) for job, count in before.items()]
    found = measured(protocol, table, released)
    assert found.mean_error == pytest.approx(np.mean(errors))
    assert found.worst_error == pytest.approx(max(errors))
    assert found.worst_column == "job"
    assert "in filled columns are off by" in found.words()


def test_a_table_of_numbers_as_people_write_them_is_off_as_much_as_the_same_one_as_we_write_them(protocol, table):
    released = protocol.sanitise(table, seed=5)
    texts = pa.array([f"{x:.2f}".replace(".", ",") for x in table["score"].to_pylist()])
    written = table.set_column(table.schema.get_field_index("score"), "score", texts)
    readings = readings_of(protocol, open_source(written))
    assert readings["score"].written == "comma"
    found = own_filled_of(protocol, open_source(written), open_source(released), readings)
    assert found == measured(protocol, table, released)


def test_a_table_is_not_off_from_itself(protocol, table):
    assert measured(protocol, table, table).worst_error == 0


@pytest.mark.parametrize(("name", "value"), [("few", 1), ("wage", None)])
def test_a_column_that_holds_one_value_is_the_worst(protocol, table, name, value):
    same = pa.array([value] * len(table), table.schema.field(name).type)
    released = protocol.sanitise(table, seed=5)
    spoilt = released.set_column(released.schema.get_field_index(name), name, same)
    found = measured(protocol, table, spoilt)
    assert found.worst_column == name
    share = Counter(table[name].to_pylist())[value] / len(table)
    assert found.worst_error == pytest.approx(1 - share)


def test_what_is_only_kept_has_no_filled_columns(base, table):
    assert measured(base, table, base.sanitise(table, seed=5)) is None
