"""Whatever the language, the clock, the zone, the user or the terminal: the same files, byte by byte."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from processes import NOBODY, finished, finished_by_nobody, folder_for_nobody, funnel, names

PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SURROUNDINGS = {
    "a terminal that knows ASCII only": {"env": {**PLAIN, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}},
    "Kathmandu, and other hashes": {"env": {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7"}},
    "summer time in New York, without assertions": {"env": {"TZ": "America/New_York"}, "flags": ("-OO",)},
    "every warning is an error": {"flags": ("-W", "error")},
    "no home, and no place for temporary files": {"without": ("HOME",), "env": {"TMPDIR": "/does/not/exist"}},
    "nothing to read from, write to or complain to": {"preexec_fn": lambda: [os.close(n) for n in range(3)]},
}


def same_files(desk, folder, flags=(), **surroundings):
    """Fit and release there; both files are those of `desk`."""
    protocol, released = folder / "protocol.json", folder / "released.csv"
    columns = ["--secret", "s", "--columns", "Größe,İı,born"]
    fit = ["fit", desk / "people.csv", *columns, "--epsilon", "0.5", "--set", "exact-fit", "-o", protocol]
    sanitise = ["sanitise", desk / "people.csv", "--protocol", protocol, "--seed", "1", "-o", released]
    done = finished(funnel(fit, sanitise, flags=flags), **surroundings)
    assert (done.returncode, done.stderr) == (0, b"")
    assert protocol.read_bytes() == (desk / "p.json").read_bytes()
    assert released.read_bytes() == (desk / "released.csv").read_bytes()
    return done.stdout


QUICK = ("a terminal that knows ASCII only", "every warning is an error")


@pytest.mark.long
@pytest.mark.parametrize(
    "which", [which if which in QUICK else pytest.param(which, marks=pytest.mark.long) for which in SURROUNDINGS]
)
def test_the_same_files_come_out_everywhere(which, desk, tmp_path):
    same_files(desk, tmp_path, **SURROUNDINGS[which])


@pytest.mark.long
@pytest.mark.parametrize(("name", "letters"), [("tr_TR", "UTF-8"), ("de_DE", "ISO-8859-1")])
def test_the_same_files_come_out_in_another_language(name, letters, desk, tmp_path):
    """In Turkish, the small letter of I is ı; in German, 0.5 is written 0,5; and Latin-1 has no İ."""
    localedef = shutil.which("localedef")
    places = tmp_path / "locales"
    places.mkdir()
    made = localedef and subprocess.run(
        [localedef, "-i", name, "-f", letters, str(places / f"{name}.{letters}")], capture_output=True, check=False
    )
    if not made or not any(places.iterdir()):
        pytest.skip("this language cannot be installed here")
    around = {**PLAIN, "LC_ALL": f"{name}.{letters}", "LOCPATH": str(places)}
    speaks = f"import locale; locale.setlocale(locale.LC_ALL, ''); assert locale.getlocale()[0] == {name!r}"
    check = finished([*funnel()[:1], "-c", speaks], env=around)
    assert check.returncode == 0, check.stderr
    out = same_files(desk, tmp_path, env=around)
    assert "Größe".encode(letters) in out


@pytest.mark.long
@pytest.mark.parametrize("date", ["1970-01-02 00:00:00", "2100-01-01 00:00:00"])
def test_the_same_files_come_out_at_any_date(date, desk, tmp_path):
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        reason = "libfaketime, which changes the clock of a process, is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    same_files(desk, tmp_path, env={"LD_PRELOAD": str(found[0]), "FAKETIME": f"@{date}"})


@pytest.mark.long
def test_a_file_is_as_private_as_the_user_asks(desk, tmp_path):
    same_files(desk, tmp_path, preexec_fn=lambda: os.umask(0o077))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.long
@pytest.mark.parametrize("damage", ["full", "broken"])
def test_a_cache_that_cannot_be_used_is_done_without(damage, desk, tmp_path):
    """Compiled loops are kept on disk to save time; where that fails, only time is lost."""
    cache = tmp_path / "cache"
    cache.mkdir()
    around = {"NUMBA_CACHE_DIR": str(cache)}
    release = ["sanitise", desk / "people.csv", "--protocol", desk / "p.json", "--seed", "1", "-o"]
    if damage == "broken":
        assert finished(funnel([*release, tmp_path / "first.csv"]), env=around).returncode == 0
        kept = [path for path in cache.rglob("*.nb*") if path.is_file()]
        assert kept
        for path in kept:
            path.write_bytes(path.read_bytes()[:20])
        limits = {}
    else:
        import resource

        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**12, 2**12))}
    done = finished(funnel([*release, tmp_path / "open.csv.gz"]), env=around, watched=False, **limits)
    assert (done.returncode, done.stderr) == (0, b"")


FEW_LOOPS = """
import numpy as np
from privacyfunnel.optimiser.generation.boxes import curve
from privacyfunnel.optimiser.generation.box_simplex import slack_basis
slack_basis(np.ones((1, 2)), np.empty((1, 2)), np.empty(1, np.int64), np.empty(2, np.int64))
assert curve(1.0) == 0.0
"""
ALL_LOOPS = """
import numpy as np
import privacyfunnel as pf
joint = pf.Joint(np.random.default_rng(0).integers(1, 50, (2, 3, 3, 2)))
assert pf.certify(pf.optimise(joint, pf.SRLIP(0.5)), joint)
"""
CUT = 20
"""Bytes that are left of a file."""


@pytest.mark.long
@pytest.mark.parametrize("program", [FEW_LOOPS, ALL_LOOPS], ids=["few", "all"])
def test_a_cache_that_was_cut_short_is_made_anew(program, tmp_path):
    """Also for the loops by which side-channel promises are proven; of each, the index or the code is cut."""
    around = {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    assert finished(command, env=around).returncode == 0
    indices = sorted(tmp_path.rglob("*.nbi"))
    assert len(indices) > 1
    codes = [path for index in indices[1::2] for path in index.parent.glob(f"{index.stem}.*.nbc")]
    for path in [*indices[::2], *codes]:
        path.write_bytes(path.read_bytes()[:CUT])
    done = finished(command, env=around)
    assert (done.returncode, done.stderr) == (0, b"")
    assert min(path.stat().st_size for path in tmp_path.rglob("*.nb*")) > CUT


@pytest.mark.long
def test_another_user_with_nothing_to_write_but_the_output_is_served(desk):
    with folder_for_nobody(desk / "people.csv", desk / "p.json") as folder:
        os.chown(folder, NOBODY, NOBODY)
        release = ["sanitise", folder / "people.csv", "--protocol", folder / "p.json", "-o", folder / "open.csv"]
        done = finished_by_nobody(funnel(release), folder, env={"HOME": "/root"})
        assert (done.returncode, done.stderr) == (0, b"")
        assert names(folder) == ["open.csv", "p.json", "people.csv"]
