"""An analyst has a published folder and the command of its README: what it says of people who were made up is true."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from attacked.outsider import funnel, write

SHARES = {"town": [0.55, 0.3, 0.15], "job": [0.7, 0.3]}
OF_TOWN = [0.2, 0.5, 0.3]
"""P(job 1 | town): nobody knows it but the test."""
TRUE = 0.95
LUCK = 1e-4


def people(seed, n):
    rng = np.random.default_rng(seed)
    town = rng.choice(3, n, p=SHARES["town"])
    job = (rng.random(n) < np.array(OF_TOWN)[town]).astype(int)
    ill = rng.random(n) < 0.1 + 0.2 * job + 0.1 * (town == 2)
    return [(f"t{t}", f"j{j}", "ill" if s else "well") for t, j, s in zip(town, job, ill, strict=True)]


def published(folder, seed, n, epsilon):
    """A folder as a steward makes it."""
    folder.mkdir()
    table = write(folder / "people.csv", ["town", "job", "s"], people(seed, n))
    path, rows = folder / "protocol.json", folder / "open.csv"
    fit = ["fit", table, "--secret", "s", "--epsilon", epsilon, "--set", "insist", "-o", path, "--json"]
    assert funnel(*fit) == 0
    assert funnel("sanitise", table, "--protocol", path, "-o", rows, "--seed", seed, "--json") == 0
    for note in folder.glob("open.csv?*"):
        note.unlink()  # it says that the draws are repeatable, and what they are for is a test
    said = ["--title", "T", "--licence", "CC0-1.0", "--publisher", "P", "--contact", "a@example.org", "--json"]
    assert funnel("publish", rows, "--protocol", path, *said, "-o", folder / "published") == 0
    return folder / "published"


def answered(folder, capsys, *options):
    capsys.readouterr()
    asked = ["estimate", folder / "table.csv", "--protocol", folder / "protocol.json", *options, "--json"]
    assert funnel(*asked) == 0
    return json.loads(capsys.readouterr().out)


def holds(low, high, truth):
    return low is not None and high is not None and low <= truth <= high


def asked_of(folder, capsys):
    """Whether each interval holds the truth: of shares, and of differences between towns."""
    found = []
    for table in answered(folder, capsys)["tables"]:
        (name,) = table["attributes"]
        truth = SHARES[name] if name == "town" else None
        for row in table["estimates"]:
            ((value,),) = row["values"]
            job = float(np.dot(SHARES["town"], OF_TOWN))
            share = truth[int(value[1])] if truth else (job if value == "j1" else 1 - job)
            found.append(holds(row["low"], row["high"], share))
    for one in answered(folder, capsys, "--of", "job", "--compare", "town")["comparisons"][0]["contrasts"]:
        if one["value"] == "j1":
            truth = OF_TOWN[int(one["group"][1])] - OF_TOWN[int(one["against"][1])]
            found.append(holds(one["difference"]["low"], one["difference"]["high"], truth))
    return found


def check(tmp_path, capsys, times, n, epsilon):
    found = [
        answer
        for seed in range(times)
        for answer in asked_of(published(tmp_path / f"{seed}", seed, n, epsilon), capsys)
    ]
    assert sum(found) > binom.ppf(LUCK, len(found), TRUE)


def test_intervals_of_a_published_folder_hold_what_is_true_of_people(tmp_path, capsys):
    check(tmp_path, capsys, 3, 1500, 0.3)


@pytest.mark.long
@pytest.mark.parametrize(("n", "epsilon"), [(500, 0.3), (3000, 0.2)])
def test_intervals_of_many_published_folders_hold_what_is_true_of_people(tmp_path, capsys, n, epsilon):
    check(tmp_path, capsys, 20, n, epsilon)
