"""Whole private fits, as the benchmark of intervals makes them: what is told holds, and all else is refused."""

import pytest
from benchmarks import private_intervals
from benchmarks.private_intervals import CASES, COUNTED, LEAST, OTHERS, WORKED_BACK, Found, asked, together

FITS = 25
MOST_SIGMAS = 4.0


def below(found):
    """The kinds of questions whose intervals hold more rarely than chance explains, or make no sense."""
    lines = {key: private_intervals.summed_up(one) for key, one in found.items() if one.tables}
    low = [key for key, line in lines.items() if line["held"] + MOST_SIGMAS * line["±"] < LEAST]
    return low + [key for key, line in lines.items() if line["absurd"]]


@pytest.mark.long
@pytest.mark.parametrize("name", ["two columns, 500", "two columns, 500, uneven"])
def test_intervals_of_private_fits_hold_or_nothing_is_told(name):
    found, fitted = asked(CASES[name], FITS)
    assert fitted > FITS / 2
    assert not below(found)


def test_intervals_that_hold_too_rarely_are_noticed():
    def found(held, absurd=0):
        return {("rows", "kind"): Found([held] * FITS, {0: [True] * FITS}, 0, absurd)}

    assert not below(found(0.9))
    assert below(found(0.7)) == below(found(0.95, absurd=1)) == [("rows", "kind")]


def test_the_benchmark_asks_all_rows_every_kind_of_question():
    found, _ = asked(CASES["two columns, 500"], 2)
    contrasts = {"differences", "ratios", "differences of means", "Cramér's V", "odds ratios", "correlations"}
    shares = {"shares", "tables", "in groups", "means", "quantiles"}
    for way in (COUNTED, WORKED_BACK, OTHERS):
        assert {kind for where, kind in found if where == way} >= contrasts | shares
    twice, _ = asked(CASES["followed up, 2,000"], 1)
    assert set(twice) == {(way, kind) for way in (WORKED_BACK, OTHERS) for kind in shares}


def test_the_page_of_results_says_the_mean_and_the_lowest_for_its_error():
    lines = [{"case": "a", "held": 0.96, "±": 0.01, "told": 900}, {"case": "b", "held": 0.92, "±": 0.04, "told": 100}]
    assert together(lines) == "94.0% of 1,000; 92.0% ± 4.0% (b)"
    assert together([]) == ""
