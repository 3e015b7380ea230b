"""Wide tables on the command line: told at the end, with what could be released and what that costs."""

import json

import numpy as np
import pytest

from privacyfunnel.cli.app import run
from privacyfunnel.protocols.protocol import Protocol


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Nine columns of 3,000 people, [bold]one[/bold] with a hostile name."""
    rng = np.random.default_rng(1)
    n = 3_000
    ill = rng.random(n) < 0.3
    columns = {f"c{j}": rng.integers(0, 3, n) for j in range(7)} | {"[bold]one[/bold]": rng.integers(0, 2, n)}
    columns["weight"] = rng.integers(0, 300, n) + 40 * ill
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    rows = zip(np.where(ill, "yes", "no"), *columns.values(), strict=True)
    path.write_text("\n".join([",".join(["ill", *columns]), *(",".join(map(str, row)) for row in rows)]))
    return path


def fit(table, tmp_path, *options, seconds=3):
    command = ["fit", str(table), "--secret", "ill", "--epsilon", "0.5", "-o", str(tmp_path / "p.json"), *options]
    return run([*command, "--time-limit", str(seconds)])


def test_a_wide_table_is_told_of_with_proposals_that_can_be_typed(table, tmp_path, capsys):
    fit(table, tmp_path, "--set", "at-least=10")
    text = capsys.readouterr().out
    assert "For you alone: too fine: 3,000 people have" in text
    assert "What each column tells about the secret" in text
    assert "--columns auto" in text
    assert "For you alone: these figures are exact." in " ".join(text.split())
    assert "[bold]one[/bold]" in text
    assert text.index("too fine") < (text.index("Promise:") if "Promise:" in text else len(text))


@pytest.mark.long
def test_following_a_proposal_gives_what_it_promised(table, tmp_path, capsys):
    assert fit(table, tmp_path, "--set", "exact-fit", "--json") == 0
    advice = json.loads(capsys.readouterr().out)["steward_only"]["advice"]
    assert advice["too_fine"]
    for proposal in advice["proposals"]:
        assert fit(table, tmp_path, "--set", "exact-fit", "--json", "--force", *proposal["options"]) == 0
        typed = json.loads(capsys.readouterr().out)
        assert typed["steward_only"]["advice"] is None
        assert [c["column"] for c in typed["columns"][1:]] == proposal["columns"]
        assert typed["fineness"]["combinations"] == proposal["combinations"]
    best = advice["proposals"][0]
    assert fit(table, tmp_path, "--set", "exact-fit", "--json", "--force", *best["option"].split(), seconds=300) == 0
    got = json.loads(capsys.readouterr().out)
    assert [c["column"] for c in got["columns"][1:]] == best["columns"]
    assert got["readers"]["likeness"]["cells_unchanged"] == pytest.approx(best["cells_unchanged"], rel=0.05)
    assert got["kept_share"] == pytest.approx(best["information_kept"], rel=0.05)


def test_accepting_it_with_one_option_is_private_and_the_file_says_what_it_spent(table, tmp_path, capsys):
    assert fit(table, tmp_path, "--columns", "auto", "--set", "coarsen=auto", "--json") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["everything_published"]["fit"] == pytest.approx(1.0)
    noise = Protocol.load(tmp_path / "p.json").noise
    assert noise.choosing == pytest.approx(0.2)
    assert noise.epsilon == pytest.approx(0.8)
    assert run(["audit", str(tmp_path / "p.json")]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "coarsen=yes"], "--set coarsen should be auto or search"),
        (["--columns", "auto", "--confidence", "0.95"], "named beforehand"),
        (["--set", "coarsen=auto", "--confidence", "0.95"], "fixed beforehand"),
    ],
)
def test_what_does_not_go_with_auto_is_refused_before_the_table_is_read(options, words, capsys):
    assert run(["fit", "no.csv", "--secret", "s", "--epsilon", "1", "-o", "p.json", *options]) == 2
    assert words in capsys.readouterr().err
