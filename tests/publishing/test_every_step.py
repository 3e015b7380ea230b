"""A folder for every kind of protocol: what it holds, what portals say of it, and that its page can be followed."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import filled_people
import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.step import KINDS
from privacyfunnel.publishing.described import OWN, R_FILE
from privacyfunnel.publishing.publish import publish, r_source
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.wide.fit import fit_wide
from publishing.conftest import told
from r_parts import require_r

frictionless = pytest.importorskip("frictionless")
ROWS = 3_000


def people():
    """Two columns that go with an illness."""
    rng = np.random.default_rng(3)
    sex, town = rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)
    ill = np.where(rng.random(ROWS) < 0.2 + 0.2 * sex, "yes", "no")
    return pd.DataFrame({"id": np.arange(ROWS), "sex": sex, "town": town, "ill": ill})


def made(kind, folder):
    """A protocol of this kind, and what it released."""
    table, out = people(), folder / "open.csv"
    joint = pf.Joint.from_table(table, "ill", ["sex", "town"], private=1.0)
    if kind == "by_model":
        exact = pf.Joint.from_table(table, "ill", ["sex", "town"])
        protocol = fit_wide(exact, pf.LIP(0.5), 1.0, seconds=0)
        protocol.sanitise(table.drop(columns="ill"), folder / "open.parquet")
        return protocol, folder / "open.parquet"
    first = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    if kind == "channel":
        table.to_csv(folder / "people.csv", index=False)
        first.sanitise(folder / "people.csv", out)
        return first, out
    table.to_csv(folder / "people.csv", index=False)
    first.sanitise(folder / "people.csv", folder / "first.csv", internal=folder / "kept.csv", person="id")
    second = pf.optimise(joint, pf.LIP(0.6), objective="faithful", after=first)
    second.sanitise(folder / "people.csv", out, released=folder / "kept.csv", person="id")
    return second, out


@pytest.fixture(scope="module", params=KINDS)
def published(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    protocol, released = made(request.param, folder)
    publish(protocol, released, folder / "published", told())
    return request.param, protocol, released, folder / "published"


def rows_of(path):
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    return read(path).value_counts().to_dict()


def test_a_folder_holds_the_released_rows_and_what_says_how_to_read_them(published):
    kind, _, released, folder = published
    names = {path.name for path in folder.iterdir()}
    assert names == (OWN if kind == "channel" else OWN - {R_FILE})
    assert rows_of(folder / "table.csv") == rows_of(folder / "table.parquet") == rows_of(released)
    assert pf.certify(pf.Protocol.load(folder / "protocol.json"))


def test_portals_find_types_values_and_digests_as_described(published):
    report = frictionless.Package(str(published[-1] / "datapackage.json")).validate()
    assert report.valid, report.flatten(["message"])


def test_what_its_page_tells_readers_to_type_works(published, capsys, monkeypatch):
    kind, _, _, folder = published
    monkeypatch.chdir(folder)
    page = (folder / "README.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert lines[:2] == ["python3 check.py protocol.json", "funnel audit protocol.json"]
    assert (len(lines) > 2) == (kind != "by_history")
    for line in lines[1:]:
        assert run(line.split()[1:]) == 0, capsys.readouterr().err
    code = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "pf.estimate" in block]
    assert len(code) == (kind != "by_history")
    for block in code:
        exec(block, {})  # noqa: S102 - what readers copy


def test_its_promise_is_proven_without_any_package_or_what_is_left_is_said(published):
    kind, _, _, folder = published
    command = [sys.executable, "-I", "-S", "check.py", "protocol.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    first = "NOT DECIDED, no flaw found; left to funnel audit: whether the model" if kind == "by_model" else "KEPT: "
    assert done.stdout.startswith(first), done.stdout + done.stderr
    assert done.returncode == (kind == "by_model")
    assert 'data-protocol="protocol.json"' in (folder / "report.html").read_text(encoding="utf-8")


def test_its_report_says_what_was_proven(published):
    kind, _, _, folder = published
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Proven in exact arithmetic on the published counts" in page
    assert ("The model is made again" in page) == (kind == "by_model")
    assert ("everything that was released of somebody" in page) == (kind == "by_history")
    said = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    assert said["name"]


def test_a_follow_up_of_an_exact_fit_is_not_published(tmp_path):
    joint = pf.Joint([[30, 10, 5], [10, 50, 20]])
    second = pf.optimise(joint, pf.LIP(0.4), after=pf.optimise(joint, pf.LIP(0.2)))
    with pytest.raises(InvalidProtocol, match="fitted on exact counts"):
        publish(second, tmp_path / "open.csv", tmp_path / "folder", told())
    assert not list(tmp_path.iterdir())


def test_r_reads_listed_channels_and_says_of_others_what_to_ask(published, tmp_path):
    require_r()
    kind, _, _, folder = published
    (tmp_path / "read.R").write_bytes(r_source() + f'\npf_read("{folder}/protocol.json")\n'.encode())
    typed = [shutil.which("Rscript"), str(tmp_path / "read.R")]
    found = subprocess.run(typed, capture_output=True, text=True, check=False)
    assert (found.returncode == 0) == (kind == "channel")
    assert kind == "channel" or f"does not list its channel ({kind}); instead of R use: funnel estimate" in found.stderr
    assert ("--released EARLIER --person COLUMN" in found.stderr) == (kind == "by_history")


FILLED_IN_R = """
said <- function(asked) cat(tryCatch(paste(nrow(asked), "shares"), error = conditionMessage), "\\n")
protocol <- pf_read("coarse.json")
said(pf_shares("open.csv", protocol, of = "town", rows = "other"))
said(pf_shares("open.csv", protocol, of = "job", rows = "other"))
said(pf_read("within.json"))
"""


def test_r_tells_shares_of_kept_columns_and_says_of_filled_ones_that_their_errors_are_not_known(tmp_path):
    typed, rows = [require_r(), "ask.R"], filled_people.people(1_000)
    coarse = with_fill(filled_people.kept(rows), open_source(rows), ["job"], 4.0, ranges=True)
    coarse.save(tmp_path / "coarse.json")
    coarse.sanitise(rows.drop_columns("ill"), tmp_path / "open.csv")
    with_fill(replace(coarse, fill=None), open_source(rows), ["job"], 4.0).save(tmp_path / "within.json")
    (tmp_path / "ask.R").write_bytes(r_source() + FILLED_IN_R.encode())
    done = subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=False)
    kept, filled, within = done.stdout.splitlines()
    assert kept.strip() == "3 shares", done.stderr
    assert (
        "column job is filled: its values are drawn from a model, and how far shares of it are off is not known"
        in filled
    )
    assert "inside the ranges of age; instead of R use: funnel estimate table.csv" in within
