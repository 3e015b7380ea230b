"""Files of models: either noise with everything that may say how rows are redrawn."""

import json

import numpy as np
import pandas as pd
import pytest

from privacyfunnel.cli.app import run
from small_models import small_models


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """3,000 people; ill has two values, d three, and both go with the other columns."""
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 2, (3, 3_000))
    d = (a + rng.integers(0, 2, 3_000)) % 3
    ill = np.where(rng.random(3_000) < 0.15 + 0.5 * a * b + 0.1 * d, "yes", "no")
    path = tmp_path_factory.mktemp("wide") / "people.csv"
    pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "ill": ill}).to_csv(path, index=False)
    return str(path)


@pytest.mark.long
@pytest.mark.parametrize("redrawn_by", ["groups", "program"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("secret", ["ill", "d"])
def test_files_with_either_noise_hold_groups_mixtures_or_a_list(table, tmp_path, capsys, secret, delta, redrawn_by):
    path, open_rows = tmp_path / "wide.json", str(tmp_path / "open.csv")
    promise = ["--epsilon", "0.1", "--private", "20", "--set", f"delta={delta}"]
    columns = ["--secret", secret, "--columns", "a,b,c,d" if secret == "ill" else "a,b,c,ill"]
    seconds = "60" if redrawn_by == "program" else "0"
    with small_models():
        assert run(["fit", table, *columns, *promise, "--time-limit", seconds, "-o", str(path)]) == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["schema"] == "privacyfunnel/1"
    kind = "targets" if redrawn_by == "program" else "cuts" if secret == "ill" else "stages"
    assert kind in content["chain"][0]["rule"]
    capsys.readouterr()
    assert run(["audit", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["redrawn_by"], told["everything_published"]["delta"]) == (redrawn_by, float(delta))
    assert run(["sanitise", table, "--protocol", str(path), "-o", open_rows]) == 0
    assert run(["estimate", open_rows, "--protocol", str(path), "--of", "a"]) == 0
