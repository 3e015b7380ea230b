"""Every command still says, writes and exits with what it did: golden files, one for each chain of `cases.py`.

`make golden` writes them anew and prints what changed in meaning. `git diff tests/golden` then shows all digits, and so
what the comparison of `meaning.py` lets pass: on the same machine nothing else moves them than the code.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from golden.cases import CHAINS
from golden.meaning import LINES, differences, leaves, shortened
from golden.running import done
from golden.tables import make
from privacyfunnel.cli import app

HERE = Path(__file__).parent
RECORDING = os.environ.get("GOLDEN") == "record"


def path_of(chain):
    return HERE / f"{chain.replace(' ', '-')}.json"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if chain.long else []) for name, chain in CHAINS.items()]
)
def test_commands_say_and_write_what_they_did(name, tmp_path, request, noise_with_seed, capsys):
    chain, path = CHAINS[name], path_of(name)
    data = None if chain.table == "people" else request.getfixturevalue("shared") / "data"
    make(chain.table, tmp_path, data)
    now = done(chain, tmp_path, noise_with_seed)
    was = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    lines = shortened(differences(was, now, chain.given))
    if RECORDING:
        path.write_text(json.dumps(now, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        with capsys.disabled():
            sys.stdout.write("\n".join(["", f"{name}: {'' if lines else 'as before'}", *lines, ""]))
    elif lines:
        pytest.fail("\n".join([f"{path.name}, which `make golden` writes:", *lines]), pytrace=False)


def test_every_command_has_a_golden_case():
    used = {line.split()[0] for chain in CHAINS.values() for line in chain.lines.values()}
    assert used == {*app.COMMANDS, "--help"}


def test_every_golden_file_belongs_to_a_chain():
    assert {path.name for path in HERE.glob("*.json")} == {path_of(name).name for name in CHAINS}


# --- what is noticed, and what is not ---------------------------------------------------------------------------------

TOLD = {
    "level": 0.1999999,
    "holds": True,
    "kept_share": 0.87,
    "gap_share": 1e-6,
    "readers": {"likeness": {"fidelity_bound": 0.9}, "words": "Readers can count rows as they stand."},
    "tables": [{"estimates": [{"share": 0.25, "values": [["[35, 60)"]]}]}],
    "search": {"seconds": 1.5},
    "certificate": {"levels": [{"subject": "obese", "level": 0.1999999}]},
}


def one(told=TOLD, code=0, files=("open.csv",)):
    sizes = {name: {"columns": ["town"], "rows": 3} for name in files}
    return {"audit": {"exit": code, "told": dict(leaves(told)), "files": sizes}}


def changed(told, *path, to):
    """A copy of nested data with another value at the path."""
    if not path:
        return to
    copy = dict(told) if isinstance(told, dict) else list(told)
    copy[path[0]] = changed(told[path[0]], *path[1:], to=to)
    return copy


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("level",), 0.1999999 + 1e-4),
        (("level",), None),
        (("holds",), False),
        (("holds",), 1),
        (("kept_share",), 0.865),
        (("gap_share",), 0.002),
        (("readers", "likeness", "fidelity_bound"), 0.905),
        (("tables", 0, "estimates", 0, "share"), 0.26),
        (("tables", 0, "estimates", 0, "values", 0, 0), "[35, 65)"),
        (("tables", 0, "estimates", 0, "values"), []),
        (("certificate", "levels"), []),
    ],
)
def test_a_change_of_meaning_is_noticed(path, to):
    (line,) = differences(one(), one(changed(TOLD, *path, to=to)))[:1]
    assert line.startswith(f"audit: {'/'.join(map(str, path))}")


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("kept_share",), 0.95),
        (("kept_share",), 0.868),
        (("gap_share",), 0.0),
        (("readers", "likeness", "fidelity_bound"), 0.88),
        (("tables", 0, "estimates", 0, "share"), 0.2505),
        (("readers", "words"), "Count rows as they stand, as you would any others."),
        (("search", "seconds"), 99.0),
        (("level",), 0.1999999 + 1e-7),
    ],
)
def test_what_may_differ_is_no_change_of_meaning(path, to):
    assert not differences(one(), one(changed(TOLD, *path, to=to)))


def test_a_given_channel_is_compared_to_the_last_digit():
    near = one(changed(TOLD, "tables", 0, "estimates", 0, "share", to=0.2505))
    assert differences(one(), near, given=True) == ["audit: tables/0/estimates/0/share was 0.25, is 0.2505"]


def test_keys_are_spelling():
    renamed = {"verdict": {"ok" if key == "holds" else key: value for key, value in TOLD.items()}}
    assert not differences(one(), one(renamed))
    assert not differences(one(), one(TOLD | {"more": 1}))
    weaker = {"verdict": changed(TOLD, "kept_share", to=0.8)}
    assert differences(one(), one(weaker)) == ["audit: kept_share was 0.87, is gone"]


def test_exit_codes_files_and_commands_are_compared():
    assert differences(one(), one(code=1)) == ["audit: exit code was 0, is 1"]
    assert differences(one(), one(files=())) == ["audit: open.csv was written, is not"]
    assert differences(one(), one(files=("open.csv", "log"))) == ["audit: log was not written, is"]
    assert differences(one(), {}) == ["audit: was run, and is not"]
    assert len(differences({}, one())) == 1
    fewer = one()
    fewer["audit"]["files"] = {"open.csv": {"columns": ["town"], "rows": 2}}
    (line,) = differences(one(), fewer)
    assert line.endswith("is {'columns': ['town'], 'rows': 2}")


def test_a_rehearsal_is_compared_where_both_runs_had_the_time_for_it():
    aimed = {"aim": {"lowest": 0.8, "hurried": False, "remedies": [{"highest": 1.2}]}}
    other = {"aim": {"lowest": 0.7, "hurried": False}}
    assert len(differences(one(aimed), one(other))) == 2
    assert not differences(one(aimed), one({"aim": {"lowest": 0.7, "hurried": True}}))


def test_differences_are_told_in_some_lines():
    lines = shortened([f"line {i}" for i in range(100)])
    assert len(lines) == LINES
    assert lines[-1] == "… and 81 more"
