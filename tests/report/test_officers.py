"""The part for data-protection officers: the three risks of the European guidance, with figures that are true."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.report.account import account
from privacyfunnel.report.officers import CONCLUSION, FROM_FILE, FROM_TABLE, officers_part
from privacyfunnel.report.page import report_page
from privacyfunnel.report.three_risks import three_risks

NAMES = ["a", "b"]


def people(rows=400):
    rng = np.random.default_rng(2)
    a, b = rng.geometric(0.3, rows).clip(max=9), rng.geometric(0.4, rows).clip(max=9)
    return pd.DataFrame({"a": a, "b": b, "ill": (rng.random(rows) < 0.1 + 0.05 * a).astype(int)})


def fitted(objective="faithful", **how):
    asked = {"bins": {"a": "each", "b": "each"}, "insist": True} | how
    return pf.optimise(pf.Joint.from_table(people(), "ill", NAMES, **asked), pf.LIP(0.4), objective=objective)


def words(text):
    return unescape(re.sub(r"<[^>]+>", " ", text))


def test_rows_that_are_alone_are_as_many_as_releases_have_on_average():
    table, protocol = people(), fitted()
    alone, own = [], []
    for seed in range(60):
        released = protocol.sanitise(table, keep_order=True, seed=seed)
        single = ~released.duplicated(NAMES, keep=False)
        alone.append(single.mean())
        own.append((single & (released[NAMES] == table[NAMES]).all(axis=1)).mean())
    found = three_risks(account(protocol))
    assert found.alone == pytest.approx(np.mean(alone), rel=0.25)  # rows are not quite drawn from one distribution
    assert found.alone > 0.01
    assert found.alone_and_own == pytest.approx(np.mean(own), rel=0.25)
    assert found.alone_and_own < found.alone


def test_a_frequency_threshold_leaves_hardly_anybody_alone():
    found = three_risks(account(fitted(private=2.0, at_least=15)))
    assert found.alone < 1e-3
    assert found.rarest > 8


def test_all_three_risks_are_on_both_pages_with_their_figures():
    protocol = fitted(private=2.0, at_least=15)
    joint = pf.Joint.from_table(people(), "ill", NAMES, bins={"a": "each", "b": "each"})
    for about in (account(protocol), account(protocol, joint)):
        page = words(report_page(about))
        for risk in ("Singling out", "Linkability", "Inference", "Membership"):
            assert risk in page
        assert CONCLUSION in page
        found = three_risks(about)
        assert f"{found.rows_unchanged:.1%} of rows are released with every cell as it was" in page
        assert "by at most a factor 1.5" in page
        assert (FROM_FILE in page) == (about.measured is None)
        assert (FROM_TABLE in page) == (about.measured is not None)
    assert "are not protected as ill is" in page


def test_no_page_says_that_singling_out_or_linking_is_prevented_or_the_release_anonymous():
    for protocol in (fitted(), fitted("information"), fitted(private=2.0, at_least=15)):
        page = words(officers_part(account(protocol)))
        assert page.count("Not prevented.") == 2
        assert "is for the controller to decide" in page
        assert not re.search(r"(is|are) anonymous(?! in the sense of recital 26)", page)


def test_an_exact_fit_is_called_not_for_publication_and_lists_from_the_table_are_named():
    assert "not for publication" in words(officers_part(account(fitted())))
    private = words(officers_part(account(fitted(private=2.0, at_least=15))))
    assert "a value that only one person has is visible" in private
