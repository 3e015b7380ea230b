"""What each assumption about attackers costs, before a long search on the command line."""

import json

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli import knowing
from privacyfunnel.cli.app import run

pytestmark = pytest.mark.usefixtures("compiled_loops")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three columns of 2,000 people, [red]one[/red] with a hostile name."""
    rng = np.random.default_rng(1)
    ill = rng.random(2_000) < 0.4
    columns = {"[red]one[/red]": rng.integers(0, 2, 2_000), "town": rng.integers(0, 3, 2_000)}
    columns["job"] = (rng.integers(0, 3, 2_000) + ill) % 3
    path = tmp_path_factory.mktemp("knowing") / "people.csv"
    rows = zip(np.where(ill, "yes", "no"), *columns.values(), strict=True)
    path.write_text("\n".join([",".join(["ill", *columns]), *(",".join(map(str, row)) for row in rows)]))
    return path


def fit(table, tmp_path, *options, seconds="10", notion="srlip"):
    command = ["fit", str(table), "--secret", "ill", "--notion", notion, "--epsilon", "0.5", "--set", "exact-fit"]
    return run([*command, "--set", "objective=information", "--set", "gap=0.1", "--time-limit", seconds, *options,
                "-o", str(tmp_path / "p.json"), "--force"])  # fmt: skip


def test_what_assumptions_cost_is_told_before_a_long_search(table, tmp_path, capsys):
    fit(table, tmp_path, "--known", "[red]one[/red]")
    text = capsys.readouterr().out
    assert text.index("What protecting from attackers costs") < text.index("Written:")
    for words in ("nothing", "any one column", "any columns", "[red]one[/red] (asked for)"):
        assert words in text


def test_machines_get_the_same_figures(table, tmp_path, capsys):
    fit(table, tmp_path, "--json")
    found = json.loads(capsys.readouterr().out)
    assert "known_costs" not in found  # all that hangs on the clock is in one place
    costs = found["search"]["known_costs"]
    assert [one["known"] for one in costs] == [0, 1, None]
    assert all(0 <= one["kept"] <= one["at_most"] <= one["entropy"] for one in costs)


@pytest.mark.parametrize("empty", ["", " ", ","])
def test_a_forgotten_name_is_no_promise_to_nobody(table, tmp_path, capsys, empty):
    assert fit(table, tmp_path, "--known", empty) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "p.json").exists()
    assert "none of a person's attributes" in pf.SRLIP(0.5, known=[]).words()


@pytest.mark.parametrize(("seconds", "notion"), [("2", "srlip"), ("10", "lip")])
def test_short_searches_and_promises_without_such_attackers_come_without(table, tmp_path, capsys, seconds, notion):
    fit(table, tmp_path, "--json", seconds=seconds, notion=notion)
    assert json.loads(capsys.readouterr().out)["search"]["known_costs"] is None


def test_figures_take_no_more_than_a_share_of_the_time(monkeypatch):
    asked = []
    monkeypatch.setattr(knowing, "known_costs", lambda joint, promise, seconds: asked.append(seconds) or [])
    joint = pf.Joint(np.ones((2, 2, 2), dtype=int))
    for limit in (20.0, 1e4, None):
        knowing.costs_for(joint, pf.SRLIP(0.5), limit)
    assert asked == [2.0, knowing.SECONDS, knowing.SECONDS]
