"""Output files appear whole or not at all: killed, interrupted, out of space, forbidden, or written twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import OutputRefused
from privacyfunnel.tables.writing import check_output, format_of, whole_file
from processes import finished_by_nobody, folder_for_nobody, names, one_line, unwatched

ROWS = 800_000


def funnel(*arguments):
    """The command line in a process of its own."""
    code = "import sys; from privacyfunnel.cli.app import run; sys.exit(run(sys.argv[1:]))"
    return [sys.executable, "-c", code, *map(str, arguments)]


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A large table, a small one, their protocol p.json, and q.json, whose releases come with a note."""
    folder = tmp_path_factory.mktemp("writing")
    rng = np.random.default_rng(0)
    words = np.array([f"value number {i}" for i in range(16)])

    def table(n):
        x, z = rng.integers(0, 16, n), rng.integers(0, 5, n)
        return pa.table({"s": (rng.random(n) < 0.3 + 0.02 * x).astype(int), "x": words[x], "z": words[z]})

    pq.write_table(table(ROWS), folder / "large.parquet")
    small = table(3_000)
    pq.write_table(small, folder / "small.parquet")
    pa_csv.write_csv(small, folder / "small.csv")
    joint = pf.Joint.from_table(small, "s")
    pf.optimise(joint, pf.LIP(0.2), objective="faithful", time_limit=5).save(folder / "p.json")
    pf.optimise(joint, pf.LIP(0.2), time_limit=5).save(folder / "q.json")
    pf.Protocol.load(folder / "p.json").sanitise(folder / "small.parquet")  # compile the kernel
    return folder


def rows_of(path):
    """The rows of a complete file; an error if it is not."""
    if path.name.endswith(".parquet"):
        table = pq.read_table(path)
    else:
        assert path.name.endswith(".gz") or path.read_bytes().endswith(b"\n")
        table = pa_csv.read_csv(path)
    assert table.column_names == ["x", "z"]
    return table.num_rows


def only_hidden_parts_beside(folder, outputs):
    for path in folder.iterdir():
        assert path in outputs or (path.name.startswith(".") and path.name.endswith(".part")), path.name


# --- kill -9 -----------------------------------------------------------------------------------------

KILLER = """
import json, os, signal, sys, time
import pyarrow.csv, duckdb, numpy, numba
import privacyfunnel.cli.app, privacyfunnel.tables.release, privacyfunnel.protocols.file

def start(arguments):
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1); os.dup2(null, 2)
        os._exit(privacyfunnel.cli.app.run(arguments))
    return child

def timed(arguments):
    begin = time.perf_counter()
    child = start(arguments)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, time.perf_counter() - begin

job = json.loads(sys.argv[1])
found = []
for kind, warm, runs in job:
    code, whole = timed(warm)
    assert code == 0, code
    for i, arguments in enumerate(runs):
        child = start(arguments)
        time.sleep(whole * (0.03 + 1.02 * (i + 0.5) / len(runs)))
        os.kill(child, signal.SIGKILL)
        found.append([arguments, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])
print(json.dumps(found))
"""
"""Runs are forks of a process that has loaded everything but done nothing, so that kills fall into the work."""

CASES = [(".parquet", ()), (".parquet", ("--keep-order",)), (".csv", ()), (".csv.gz", ("--keep-order",))]


@pytest.mark.long
@pytest.mark.parametrize(("suffix", "options"), CASES, ids=[suffix + "".join(options) for suffix, options in CASES])
def test_kill_9_leaves_a_whole_file_or_none(suffix, options, work, tmp_path):
    table = work / "large.parquet" if suffix != ".csv.gz" else work / "middle.parquet"
    rows = ROWS if suffix != ".csv.gz" else ROWS // 4
    if not table.exists():
        pq.write_table(pq.read_table(work / "large.parquet").slice(0, rows), table)

    def command(output):
        return ["sanitise", str(table), "--protocol", str(work / "p.json"), "-o", str(output), *options]

    warm = tmp_path / "warm"
    warm.mkdir()
    folder = tmp_path / "out"
    folder.mkdir()
    outputs = [folder / f"open{i}{suffix}" for i in range(14)]
    job = [[suffix, command(warm / f"w{suffix}"), [command(output) for output in outputs]]]
    done = subprocess.run(
        [sys.executable, "-c", KILLER, json.dumps(job)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    codes = [code for _, code in json.loads(done.stdout)]
    assert codes.count(-signal.SIGKILL) >= len(codes) // 4  # the kills did hit runs at work
    assert set(codes) <= {0, -signal.SIGKILL}
    for output, code in zip(outputs, codes, strict=True):
        if output.exists():
            assert rows_of(output) == rows
        else:
            assert code != 0
    only_hidden_parts_beside(folder, outputs)
    missing = [output for output in outputs if not output.exists()]
    assert missing  # some were killed before the end
    assert run(command(missing[0])) == 0
    assert rows_of(missing[0]) == rows


# --- Ctrl-C ------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_nothing_and_says_so(work, tmp_path):
    command = funnel("sanitise", work / "large.parquet", "--protocol", work / "p.json", "-o", tmp_path / "open.csv")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    _wait_for_part(tmp_path, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors == "funnel: interrupted; no file was left unfinished\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("delay", [0.1, 0.4, 0.8, 1.2])
def test_ctrl_c_at_any_moment_shows_no_traceback(delay, work, tmp_path):
    # Until the first lines of ours are loaded, Python knows only tracebacks; so does what watches its lines.
    script = "from privacyfunnel.cli.main import main; print('begun', flush=True); main()"
    arguments = ["sanitise", work / "large.parquet", "--protocol", work / "p.json", "-o", tmp_path / "open.csv"]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=unwatched(),
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert "Traceback" not in errors
    assert process.returncode in (130, -signal.SIGINT, 0)
    left = [path.name for path in tmp_path.iterdir()]
    assert left == ["open.csv"] if process.returncode == 0 else left in ([], ["open.csv"])
    if left:  # interrupted after the last byte: then it is all there
        lines = (tmp_path / "open.csv").read_bytes().count(b"\n")
        assert lines == pq.read_metadata(work / "large.parquet").num_rows + 1


LOADING = """
import os, signal, sys

library = sys.argv[2]

class Compiled:
    \"\"\"Ctrl-C while a compiled module is loaded, which makes of it what such modules do.\"\"\"

    def find_spec(self, name, path=None, target=None):
        if name == library:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("initialization failed")

sys.meta_path.insert(0, Compiled())
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
sys.argv[1:] = ["fit", "--help"]
from privacyfunnel.cli.main import main
main()
"""


@pytest.mark.long
@pytest.mark.parametrize("library", ["duckdb", "pydantic_core"])  # typer loads pydantic, too, to read what was typed
def test_ctrl_c_while_compiled_modules_are_loaded_waits_for_them(library):
    def started(handler):
        command = [sys.executable, "-c", LOADING, handler, library]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    interrupted = started("default_int_handler")
    assert (interrupted.returncode, interrupted.stdout) == (130, "")
    assert interrupted.stderr == "funnel: interrupted; no file was left unfinished\n"
    ignored = started("SIG_IGN")  # as for what a shell starts in the background
    assert (ignored.returncode, ignored.stderr) == (0, "")
    assert ignored.stdout.startswith("Usage: funnel fit ")


def _wait_for_part(folder, process):
    for _ in range(2_000):
        if any(folder.iterdir()) or process.poll() is not None:
            return
        time.sleep(0.005)


# --- no space, no permission -------------------------------------------------------------------------


@pytest.fixture
def small_disk():
    """A disk of a quarter of a MiB."""
    folder = Path(tempfile.mkdtemp(prefix="small-disk-"))
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run([shutil.which("umount"), "-l", folder], check=True)
    folder.rmdir()


def refused(arguments, capsys, folder, says):
    capsys.readouterr()
    code = run([str(argument) for argument in arguments])
    out, errors = capsys.readouterr()
    assert (code, out) == (2, "")
    assert errors.count("\n") == 1
    assert says in errors
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
@pytest.mark.parametrize("order", ["--keep-order", None])
def test_a_full_disk_is_one_line_and_leaves_nothing(suffix, order, work, small_disk, capsys):
    arguments = ["sanitise", work / "large.parquet", "--protocol", work / "p.json", "-o", small_disk / f"open{suffix}"]
    refused(arguments + [order] * (order is not None), capsys, small_disk, "the disk is full")


def test_a_full_disk_takes_no_protocol(work, small_disk, capsys):
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2**18 - 4096))
    arguments = ["fit", work / "small.csv", "--secret", "s", "--epsilon", "0.2", "-o", small_disk / "p.json"]
    code = run(list(map(str, arguments)))
    assert code == 2
    assert "the disk is full" in capsys.readouterr().err
    assert list(small_disk.iterdir()) == [filler]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
def test_a_read_only_folder_is_one_line(suffix, work, small_disk, capsys):
    subprocess.run([shutil.which("mount"), "-o", "remount,ro", small_disk], check=True)
    arguments = ["sanitise", work / "small.csv", "--protocol", work / "p.json", "-o", small_disk / f"open{suffix}"]
    refused(arguments, capsys, small_disk, "the folder is read-only")


def test_a_read_only_folder_is_found_out_before_the_table_is_read(tmp_path, small_disk, capsys):
    subprocess.run([shutil.which("mount"), "-o", "remount,ro", small_disk], check=True)
    arguments = ["fit", tmp_path / "absent.csv", "--secret", "s", "--epsilon", "0.2", "-o", small_disk / "p.json"]
    refused(arguments, capsys, small_disk, "the folder is read-only")


def test_a_folder_that_may_not_be_written_to_is_one_line(work):
    with folder_for_nobody(work / "small.csv", work / "p.json") as folder:
        release = ["sanitise", folder / "small.csv", "--protocol", folder / "p.json", "-o", folder / "open.csv"]
        done = finished_by_nobody(funnel(*release), folder)
        assert done.returncode == 2, done.stderr
        assert "may not be written to" in one_line(done.stderr)
        assert names(folder) == ["p.json", "small.csv"]


def test_an_input_that_fails_midway_is_not_blamed_on_the_output(work, tmp_path, capsys):
    data = bytearray((work / "large.parquet").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 5_000] = bytes(5_000)
    (tmp_path / "broken.parquet").write_bytes(data)
    code = run(["sanitise", f"{tmp_path}/broken.parquet", "--protocol", f"{work}/p.json", "-o", f"{tmp_path}/open.csv"])
    errors = capsys.readouterr().err
    assert code == 2
    assert "broken.parquet" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["broken.parquet"]


# --- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
def test_an_existing_output_needs_force(suffix, work, tmp_path, capsys):
    output = tmp_path / f"open{suffix}"
    output.write_text("precious")
    arguments = ["sanitise", f"{work}/small.csv", "--protocol", f"{work}/p.json", "-o", str(output)]
    assert run(arguments) == 2
    assert "--force" in capsys.readouterr().err
    assert output.read_text() == "precious"
    assert run([*arguments, "--force"]) == 0
    assert rows_of(output) == 3_000
    assert list(tmp_path.iterdir()) == [output]


def test_a_failed_run_with_force_keeps_the_old_output(work, tmp_path, capsys):
    output = tmp_path / "open.csv"
    output.write_text("precious")
    (tmp_path / "strange.csv").write_text("x,z\nvalue number 1,value number 1\nCANARY,value number 2\n")
    arguments = ["sanitise", f"{tmp_path}/strange.csv", "--protocol", f"{work}/p.json", "-o", str(output), "--force"]
    assert run(arguments) == 2
    assert output.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["open.csv", "strange.csv"]


@pytest.mark.parametrize("way", ["same", "relative", "symlink", "hard link", "dots", "symlink to folder"])
def test_the_input_is_never_the_output(way, work, tmp_path, capsys, monkeypatch):
    table = tmp_path / "people.csv"
    shutil.copy(work / "small.csv", table)
    before = table.read_bytes()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    output = {
        "same": table,
        "relative": Path("people.csv"),
        "symlink": tmp_path / "link.csv",
        "hard link": tmp_path / "hard.csv",
        "dots": tmp_path / "sub" / ".." / "people.csv",
        "symlink to folder": tmp_path / "there" / "people.csv",
    }[way]
    if way == "symlink":
        output.symlink_to(table)
    if way == "hard link":
        output.hardlink_to(table)
    if way == "symlink to folder":
        (tmp_path / "there").symlink_to(tmp_path)
    for one, other in ((table, output), (output, table)):
        arguments = ["sanitise", str(one), "--protocol", f"{work}/p.json", "-o", str(other), "--force"]
        assert run(arguments) == 2
        assert "is the input itself" in capsys.readouterr().err
        assert table.read_bytes() == before


def test_the_protocol_is_never_the_output(work, tmp_path, capsys):
    protocol = tmp_path / "p.csv"
    shutil.copy(work / "p.json", protocol)
    before = protocol.read_bytes()
    assert run(["sanitise", f"{work}/small.csv", "--protocol", f"{protocol}", "-o", f"{protocol}", "--force"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert protocol.read_bytes() == before


def test_the_table_is_never_replaced_by_its_protocol(work, tmp_path, capsys):
    table = tmp_path / "people.csv"
    shutil.copy(work / "small.csv", table)
    before = table.read_bytes()
    arguments = ["fit", str(table), "--secret", "s", "--epsilon", "1", "-o", str(table), "--force"]
    assert run(arguments) == 2
    assert "is the input itself" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_a_symbolic_link_to_nowhere_is_not_followed(work, tmp_path, capsys):
    output = tmp_path / "open.csv"
    output.symlink_to(tmp_path / "elsewhere.csv")
    code = run(["sanitise", f"{work}/small.csv", "--protocol", f"{work}/p.json", "-o", str(output)])
    assert code == 2
    assert "exists" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere.csv").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["open.csv"]


@pytest.mark.long
@pytest.mark.parametrize("force", [False, True])
def test_of_two_runs_at_once_one_wins_unless_forced(force, work, tmp_path):
    output = tmp_path / "open.parquet"
    arguments = ["sanitise", work / "large.parquet", "--protocol", work / "p.json", "-o", output, "--keep-order"]
    command = funnel(*arguments, *(["--force"] if force else []))
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) for _ in "ab"]
    errors = [process.communicate(timeout=300)[1] for process in runs]
    codes = sorted(process.returncode for process in runs)
    assert codes == ([0, 0] if force else [0, 2])
    assert rows_of(output) == ROWS
    assert list(tmp_path.iterdir()) == [output]
    assert "".join(errors).count("\n") == (0 if force else 1)


def test_of_two_writers_at_once_the_second_is_refused(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(OutputRefused, match="exists"), whole_file(path, force=False) as second:  # noqa: PT012 - the end of the block fails
        with whole_file(path, force=False) as first:
            first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_there_until_all_is_written(tmp_path):
    path = tmp_path / "out.csv"
    with whole_file(path, force=False) as file:
        file.write(b"half")
        assert not path.exists()
        (part,) = tmp_path.iterdir()
        assert part.name.startswith(".")
        assert part.name.endswith(".part")
    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("trouble", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_any_trouble_while_writing_leaves_nothing(trouble, tmp_path):
    with pytest.raises(trouble), whole_file(tmp_path / "out.csv", force=False) as file:  # noqa: PT012 - after half a file
        file.write(b"half")
        raise trouble
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_hard_links_still_refuses_to_replace(tmp_path, monkeypatch):
    def no_links(*_):
        raise PermissionError("no hard links here")

    monkeypatch.setattr("os.link", no_links)
    path = tmp_path / "out.csv"
    with whole_file(path, force=False) as file:
        file.write(b"one")
    with pytest.raises(OutputRefused, match="exists"), whole_file(path, force=False) as file:
        file.write(b"two")
    assert path.read_bytes() == b"one"


@pytest.mark.parametrize(
    ("name", "says"),
    [("out.txt", "should end in"), ("out", "should end in"), ("no/out.csv", "no folder"), ("sub.csv", "is a folder")],
)
def test_outputs_that_cannot_be_are_refused(name, says, tmp_path):
    (tmp_path / "sub.csv").mkdir()
    with pytest.raises(OutputRefused, match=says):  # noqa: PT012 - either of them refuses
        format_of(tmp_path / name)
        check_output(tmp_path / name, force=True)


@pytest.mark.parametrize("protocol", ["p.json", "q.json"])
@pytest.mark.parametrize("length", [240, 251, 300])
def test_a_name_that_is_too_long_is_refused_or_written(length, protocol, work, tmp_path, capsys):
    output = tmp_path / ("n" * (length - 4) + ".csv")
    code = run(["sanitise", f"{work}/small.csv", "--protocol", f"{work}/{protocol}", "-o", str(output)])
    errors = capsys.readouterr().err
    if code == 0:
        assert rows_of(output) == 3_000
    else:
        assert code == 2
        assert errors.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


def test_a_note_beside_a_table_appears_with_it_or_not_at_all(work, tmp_path, capsys):
    (tmp_path / "strange.csv").write_text("x,z\nnever seen,at all\n")
    asked = ["--protocol", f"{work}/q.json", "-o", f"{tmp_path}/open.csv"]
    assert run(["sanitise", f"{tmp_path}/strange.csv", *asked]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["strange.csv"]
    assert run(["sanitise", f"{work}/small.csv", *asked]) == 0
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["open.csv", "open.csv.metadata.json", "strange.csv"]


def test_the_output_can_be_read_by_whom_the_folder_lets_read(work, tmp_path):
    """As any new file would be, not as a temporary one."""
    assert run(["sanitise", f"{work}/small.csv", "--protocol", f"{work}/p.json", "-o", f"{tmp_path}/open.csv"]) == 0
    (tmp_path / "plain").touch()
    assert (tmp_path / "open.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "open.csv").stat().st_nlink == 1
