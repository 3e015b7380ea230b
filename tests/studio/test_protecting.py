"""The studio protects the protocol, too: privately unless told otherwise, with noise drawn once."""

import threading

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.protocols.everything import NO_BOUND
from privacyfunnel.tables import private_counts

desk = pytest.importorskip("privacyfunnel.studio.actions")
page = pytest.importorskip("privacyfunnel.studio.page")
choosing = pytest.importorskip("privacyfunnel.studio.choosing")
protecting = pytest.importorskip("privacyfunnel.studio.protecting")
Protection = protecting.Protection
COLUMNS = ["sex", "town"]


@pytest.fixture
def opened(table):
    return desk.open_table(table, "people.csv")


@pytest.fixture
def drawn(monkeypatch):
    """The ε₀ of every drawing of noise."""
    found, noised = [], private_counts.noised

    def follow(counts, epsilon):
        found.append(epsilon)
        return noised(counts, epsilon)

    monkeypatch.setattr(private_counts, "noised", follow)
    return found


def solved(opened, notion, columns=COLUMNS, **more):
    return desk.solve(desk.count(opened, "obese", columns), opened, notion, None, lambda _: None, **more)


def test_a_fit_is_private_with_the_usual_threshold_unless_somebody_chooses_otherwise(opened):
    protocol = solved(opened, pf.LIP(0.3)).account.protocol
    assert (protocol.fitted, protocol.noise.epsilon, protocol.at_least) == ("private counts", 1.0, 0)
    assert audit_publicly(protocol)[1].holds
    assert Protection.usual(pf.LIP(0.3)) == Protection(1.0, 1)


def test_promises_that_speak_of_every_combination_go_without_a_threshold(opened):
    for notion in (pf.SRLIP(0.5), pf.SRLDP(0.5), pf.robust(pf.LIP(0.5))):
        assert Protection.usual(notion) == Protection(1.0, 0)
    assert solved(opened, pf.SRLIP(0.5)).account.protocol.at_least == 0
    for name, confidence in (("srlip", ""), ("srldp", ""), ("lip", "0.95")):
        assert desk.protection_of("1", "10", name, confidence) == Protection(1.0, 0)
        assert "without a threshold" in str(choosing.threshold_part(name, confidence))
    assert desk.protection_of("1", "10", "lip", "") == Protection(1.0, 10)
    assert choosing.threshold_part("lip", "") is None


def test_noise_is_drawn_once_for_a_choice_of_columns_and_an_amount(opened, drawn):
    """Fresh noise for every look would tell more if several protocols were published."""
    first = solved(opened, pf.LIP(0.3)).account.protocol
    others = [
        solved(opened, pf.LIP(0.1)),
        solved(opened, pf.LDP(0.3), objective="information"),
        solved(opened, pf.LIP(0.3), protection=Protection(1.0, 50)),
        solved(opened, pf.SRLIP(0.5)),
        solved(opened, pf.LIP(0.3), columns=COLUMNS[::-1]),  # the same columns, marked in another order
    ]
    assert drawn == [1.0]
    for other in others:
        assert np.array_equal(other.account.protocol.noise.counts, first.noise.counts)
    solved(opened, pf.LIP(0.3), protection=Protection(0.5, 10))
    solved(opened, pf.LIP(0.2), protection=Protection(0.5, 10))
    solved(opened, pf.LIP(0.3), protection=Protection(None, 10))
    assert drawn == [1.0, 0.5]
    solved(opened, pf.LIP(0.3), columns=["sex"])
    assert drawn == [1.0, 0.5, 1.0]


def test_two_threads_that_ask_at_once_get_the_same_noise(opened, drawn):
    counts, found, together = desk.count(opened, "obese", COLUMNS), [], threading.Barrier(4)

    def ask():
        together.wait()
        found.append(counts.used(Protection(1.0, 10)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == [1.0]
    assert len({id(one) for one in found}) == 1


def test_another_threshold_gives_what_a_fit_with_it_would(opened):
    counts = desk.count(opened, "obese", COLUMNS)
    noisy = counts.used(Protection(1.0, 0)).joint
    for people in (5, 10, 50):
        joint = counts.used(Protection(1.0, people)).joint
        assert joint.noise is noisy.noise
        assert joint.at_least == people
        assert joint.secret_values == noisy.secret_values
        assert joint.total == pytest.approx(noisy.total)
        assert (joint.weights.sum(axis=0) >= people * 1024).all()
    with pytest.raises(InvalidInput, match="counts with noise"):
        counts.exact.at_threshold(10)


@pytest.mark.parametrize(("private", "at_least"), [("0.3", "10"), ("", "10"), ("nan", "10"), ("1", "0"), ("1", "x")])
def test_only_what_the_page_offers_can_be_chosen(private, at_least):
    with pytest.raises(InvalidInput, match="from the lists"):
        desk.protection_of(private, at_least, "lip", "")


def test_the_page_offers_what_can_be_chosen():
    assert list(choosing.noises()) == ["0.1", "0.5", "1", "2", "exact"]
    assert list(choosing.thresholds()) == ["1", "5", "10", "20", "50"]
    for private in choosing.noises():
        for at_least in choosing.thresholds():
            assert desk.protection_of(private, at_least, "lip", "").at_least == int(at_least)
    assert desk.protection_of("exact", "10", "lip", "") == Protection(None, 10)


def test_what_may_be_published_is_said_by_how_it_was_fitted(opened):
    columns = ["sex", "town", "weight"]
    private, exact = (
        solved(opened, pf.LIP(0.3), columns, protection=one) for one in (Protection(1.0, 10), Protection(None, 1))
    )
    assert "Publish the released table, the protocol and the page to publish" in page.publishing_words(private.account)
    told = page.publishing_words(exact.account)
    people = exact.account.measured.exposed
    assert people.few > 0
    assert people.words() in told
    assert "the protocol and the page" not in told
    shown = str(page.result_part(exact))
    assert NO_BOUND in shown
    assert f"{people.few:,} have a combination of values that fewer than 10 share" in shown
    merged = solved(opened, pf.LIP(0.3), ["sex"], protection=Protection(None, 10)).account
    assert merged.measured.exposed.few == 0
    assert NO_BOUND in page.publishing_words(merged)


def test_both_levels_stand_next_to_the_result(opened):
    found = solved(opened, pf.LIP(0.3), protection=Protection(1.0, 10))
    shown = str(page.result_part(found))
    for words in ("<dt>One row</dt>", "<dt>Everything published</dt>", "e^(ε+ε₀), ε₀ = 1", "Frequency threshold"):
        assert words in shown
    assert "Proven in exact arithmetic on the published counts" in shown
    assert "For you alone" in shown


def test_a_result_says_of_the_own_table_first_what_becomes_of_it(opened):
    shown = str(page.result_part(solved(opened, pf.LIP(0.3))))
    own = shown.index("For you alone: in your table")
    assert (
        own < shown.index("of all cells stay as they are, by the published counts") < shown.index("Readers can count")
    )
