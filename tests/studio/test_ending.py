"""The studio ends soon after it is told to, whatever runs, and leaves nothing behind."""

import json
import signal
import subprocess
import sys
import time

import pytest

from pages import required
from processes import seconds_to_end, soon

BUSY = """
import numpy as np
from privacyfunnel.studio import serve, work
from privacyfunnel.cli.main import main

def deaf(_):
    while True:  # hears of nothing, and holds Python's lock most of the time
        np.arange(3_000_000).astype(object).sum()

def busy(*arguments):
    for _ in range(2):
        work.Work(deaf)
    return serving(*arguments)

serving, serve.server_of = serve.server_of, busy
main()
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="these are signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_studio_ends_within_two_seconds_whatever_runs_and_leaves_no_files(name, tmp_path):
    required("shiny")
    command = [sys.executable, "-P", "-c", BUSY, "studio", "--no-browser", "--json", "--folder", str(tmp_path)]

    def attempt():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            address = json.loads(process.stdout.readline())["address"]
            assert address.startswith("http://127.0.0.1")
            assert len(list(tmp_path.iterdir())) == 1
            time.sleep(1)  # it serves, and is busy
            seconds = seconds_to_end(process, name)
            assert "Traceback" not in process.stderr.read()
            assert list(tmp_path.iterdir()) == []
            return seconds
        finally:
            process.kill()
            process.communicate()

    assert soon(attempt)
