"""On a terminal, long work shows how far it is, on stderr alone and only while it lasts."""

import os
import pty
import subprocess
import sys
import threading

import pytest

RUN = "from privacyfunnel.cli.main import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    rows = [f"{'yes' if i % 3 else 'no'},{'ABCD'[i % 4]},{i % 5}" for i in range(4_000)]
    (folder / "people.csv").write_text("ill,town,size\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return folder


def on_a_terminal(folder, *arguments):
    """The exit code, what a pipe got from stdout, and what a terminal got from stderr."""
    ours, theirs = pty.openpty()
    seen = []

    def listen():
        try:
            while chunk := os.read(ours, 4096):
                seen.append(chunk)
        except OSError:  # the other end was closed
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    command = [sys.executable, "-c", RUN, *arguments]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    listener.join()
    os.close(ours)
    return done.returncode, done.stdout.decode(), b"".join(seen).decode()


@pytest.mark.long
def test_a_search_and_a_release_show_how_far_they_are_to_people_and_not_to_pipes(folder):
    fit = ["fit", "people.csv", "--secret", "ill", "--epsilon", "0.5", "-o", "p.json", "--json"]
    code, out, shown = on_a_terminal(folder, *fit)
    assert code == 0, shown
    assert "Ctrl-C takes" in shown
    assert out.count("\n") == 1
    assert "Ctrl-C" not in out
    code, out, shown = on_a_terminal(
        folder, "sanitise", "people.csv", "--protocol", "p.json", "-o", "open.csv", "--json"
    )
    assert code == 0, shown
    assert "sanitising" in shown
    assert "sanitising" not in out
    piped = subprocess.run(
        [sys.executable, "-c", RUN, *fit, "--force"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (piped.returncode, piped.stderr) == (0, "")


@pytest.mark.long
def test_the_papers_experiments_count_their_pieces_of_work(folder):
    pytest.importorskip("ppl", reason="needs pplpy, which is not installed")
    code, out, shown = on_a_terminal(
        folder,
        "paper",
        "--figure",
        "1",
        "--epsilons",
        "2",
        "--draws",
        "1",
        "--slow-draws",
        "0",
        "--jobs",
        "1",
        "--json",
    )
    assert code == 0, shown
    assert "running the paper's experiments" in shown
    assert out.count("\n") == 1
