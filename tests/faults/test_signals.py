"""Ended by Ctrl-C, from outside or without a warning: nothing is half-written, and the next run works."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from processes import PATIENCE, ROWS, funnel, names, one_line

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these are signals of POSIX")


def started(commands, temporary, **options):
    """A process whose temporary files are in a folder of its own."""
    temporary.mkdir()
    around = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.Popen(
        commands, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options
    )


def wait_for(folder, process, suffix=""):
    """Until there is something in the folder, or nothing more will be."""
    for _ in range(12_000):
        if any(name.endswith(suffix) for name in names(folder)) or process.poll() is not None:
            return
        time.sleep(0.005)


@pytest.mark.long
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_release_that_is_ended_says_so_and_leaves_nothing(name, desk, tmp_path):
    number = getattr(signal, name)
    folder = tmp_path / "out"
    folder.mkdir()
    old = folder / "open.csv.gz"
    old.write_bytes(b"precious")
    command = ["sanitise", desk / "large.csv", "--protocol", desk / "l.json", "-o", old, "--force"]
    process = started(funnel(command), tmp_path / "temporary")
    wait_for(folder, process, ".part")
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert "interrupted" in one_line(errors)
    assert names(folder) == ["open.csv.gz"]
    assert old.read_bytes() == b"precious"
    assert names(tmp_path / "temporary") == []  # where DuckDB would put original rows


@pytest.mark.long
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_fit_that_is_ended_while_the_table_is_read_says_so(name, desk, tmp_path):
    """DuckDB makes an error of its own out of ours, which is not to be taken for a bug."""
    number = getattr(signal, name)
    output = tmp_path / "protocol.json"
    command = ["fit", desk / "large.csv", "--secret", "s", "--epsilon", "0.3", "-o", output]
    process = started(funnel(command), tmp_path / "temporary")
    wait_for(tmp_path / "temporary", process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert names(tmp_path / "temporary") == []
    if name == "SIGINT" and process.returncode == 0:  # the search had begun, and Ctrl-C takes the best so far
        assert pf.Protocol.load(output).utility > 0
        return
    assert process.returncode == 128 + number, errors
    assert "interrupted" in one_line(errors)
    assert names(tmp_path) == ["temporary"]


@pytest.mark.long
def test_signals_that_the_caller_ignores_are_ignored(desk, tmp_path):
    """As with nohup, and for Ctrl-C in the background of a script."""
    output = tmp_path / "open.csv"
    command = ["sanitise", desk / "large.csv", "--protocol", desk / "l.json", "-o", output]
    numbers = (signal.SIGHUP, signal.SIGINT)
    ignored = {"preexec_fn": lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]}
    process = started(funnel(command), tmp_path / "temporary", **ignored)
    wait_for(tmp_path, process, ".part")
    for number in numbers:
        process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    assert output.read_bytes().count(b"\n") == ROWS + 1


QUERY = "SELECT count(*) FROM range(100000000000) a WHERE (a.range * 3) % 7 = 3"
"""Minutes of work, in many small steps: DuckDB looks for Ctrl-C between two of them."""
LIBRARY = f"""
import os, signal, sys, threading
from pathlib import Path
from privacyfunnel.tables.sources import open_source
source = open_source(Path(sys.argv[1]))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    source.rows({QUERY!r})
except KeyboardInterrupt:
    print("as everywhere")
"""


def test_ctrl_c_in_the_library_is_a_keyboard_interrupt_also_within_duckdb(desk):
    command = [sys.executable, "-c", LIBRARY, str(desk / "people.csv")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("as everywhere\n", "")


@pytest.mark.long
@pytest.mark.parametrize("what", ["fit", "report"])
def test_kill_9_keeps_the_old_output_and_the_next_run_succeeds(what, desk, tmp_path, capsys):
    output = tmp_path / f"{what}.out"
    output.write_text("precious")
    command = {
        "fit": ["fit", desk / "large.csv", "--secret", "s", "--epsilon", "0.3", "--time-limit", "5"],
        "report": ["report", desk / "l.json", "--table", desk / "large.csv", "--no-curves"],
    }[what]
    command = [*map(str, command), "-o", str(output), "--force"]
    process = started(funnel(command), tmp_path / "temporary")
    wait_for(tmp_path / "temporary", process)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert output.read_text() == "precious"
    assert run(command) == 0
    assert capsys.readouterr().err == ""
    assert len(output.read_bytes()) > 1_000
    assert names(tmp_path) == [output.name, "temporary"]


WATCHED = """
import sys
from privacyfunnel.cli.main import main
from privacyfunnel.optimiser.faithful import search

solve = search.interior

def watched(cost, *arguments, **options):
    if len(cost) < 50_000:  # over the pairs of the first plan alone, in a moment
        return solve(cost, *arguments, **options)
    print("solving", len(cost), flush=True)
    answer = solve(cost, *arguments, **options)
    print("stopped" if answer is None else "solved", flush=True)
    return answer

search.interior = watched
main()
"""


@pytest.mark.long
def test_ctrl_c_while_the_solver_runs_ends_it_there_with_a_certified_protocol(tmp_path):
    """Its first large linear program, of a table with thousands of values, takes seconds, all of them within HiGHS."""
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, 30_000) for name, size in (("a", 20), ("b", 15), ("c", 10))}
    ill = rng.random(30_000) < 0.1 + 0.04 * columns["a"]
    table = {name: [f"{name}{code}" for code in codes] for name, codes in columns.items()}
    pa_csv.write_csv(pa.table({"s": np.where(ill, "ill", "well"), **table}), tmp_path / "people.csv")
    output = tmp_path / "protocol.json"
    arguments = [
        "fit",
        tmp_path / "people.csv",
        "--secret",
        "s",
        "--epsilon",
        "0.2",
        "--set",
        "exact-fit",
        "-o",
        output,
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHED, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert any(line.startswith("solving") for line in process.stdout), process.stderr.read()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (0, "")
    assert out.startswith("stopped\n")
    assert "solving" not in out  # and nothing else is solved
    protocol = pf.Protocol.load(output)
    joint = pf.Joint.from_table(tmp_path / "people.csv", "s", ["a", "b", "c"])
    certificate = pf.certify(protocol, joint)
    assert joint.n_x > 2_000
    assert certificate.holds
    assert certificate.marginal_error <= 2**-30
    assert protocol.fidelity > 0.5
    assert protocol.fidelity_bound == 1.0
