"""Too little memory: one line, the old output as it was, and nothing left behind."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.tables.database import clear_errors
from privacyfunnel.tables.sources import open_source
from processes import PATIENCE, finished, funnel, names, one_line


def limited(mebibytes, kind=resource.RLIMIT_AS):
    """Run in a child before it starts: it may have so much memory."""
    return lambda: resource.setrlimit(kind, (mebibytes << 20, mebibytes << 20))


@pytest.mark.parametrize("kind", [resource.RLIMIT_AS, resource.RLIMIT_DATA], ids=["address space", "data"])
def test_a_limit_under_which_libraries_would_crash_is_refused_before_they_are_loaded(kind, tmp_path):
    command = funnel(["sanitise", "none.csv", "--protocol", "none.json", "-o", "open.csv"])
    done = finished(command, preexec_fn=limited(400, kind), cwd=tmp_path)
    assert done.returncode == 2
    assert "limited to 400 MiB" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


TIGHT = """
import os, resource, sys
from privacyfunnel.cli.app import run

folder, spare = sys.argv[1], int(sys.argv[2])
command = ["sanitise", f"{folder}/small.csv", "--protocol", f"{folder}/l.json", "--force", "-o", sys.argv[3]]
assert run(command) == 0
sys.stdout.flush()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (spare << 20),) * 2)
code = run([argument.replace("small.csv", "large.csv") for argument in command])
sys.stderr.flush()
os._exit(code)  # what libraries do at their end, without memory, is not ours
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="how much memory is used is read from /proc")
def test_memory_that_runs_out_in_the_middle_is_one_line_and_keeps_the_old_output(desk, tmp_path):
    output = tmp_path / "open.csv"
    around = {"TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    done = finished([sys.executable, "-c", TIGHT, str(desk), "8", str(output)], env=around)
    assert done.returncode == 2, done.stderr
    assert "the memory is used up" in one_line(done.stderr)
    assert output.read_bytes().count(b"\n") == 2_001  # the release of the small table, whole
    assert names(tmp_path) == ["open.csv", "temporary"]


def test_memory_that_duckdb_lacks_is_not_blamed_on_the_table(desk):
    source = open_source(desk / "large.csv")
    source.connection.execute("SET memory_limit = '2MB'")
    source.connection.execute("SET temp_directory = ''")
    with pytest.raises(MemoryError, match="used up"):
        pf.Joint.from_table(source, "s")


@pytest.mark.parametrize(
    "trouble",
    [
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 99 failed"),
        pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
        OSError(12, os.strerror(12)),
        duckdb.OutOfMemoryException("failed to pin block"),
    ],
    ids=lambda trouble: type(trouble).__name__,
)
def test_want_of_memory_is_known_by_all_its_names(trouble):
    with pytest.raises(MemoryError, match="by reading people"), clear_errors("people.csv"):
        raise trouble


@pytest.mark.long
def test_a_file_may_not_grow_beyond_its_limit(desk, tmp_path):
    """As on a full disk, but without the rights to make one."""
    command = funnel(["sanitise", desk / "large.csv", "--protocol", desk / "l.json", "-o", tmp_path / "open.csv"])
    small = (2**18, 2**18)
    done = finished(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, small))
    assert done.returncode == 2, done.stderr
    assert "open.csv was not written" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_standard_output_on_a_full_disk_is_one_line(desk):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    command = funnel(["estimate", desk / "released.csv", "--protocol", desk / "p.json", "--json"])
    with full.open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 2, done.stderr
    assert "standard output was not written" in one_line(done.stderr)
