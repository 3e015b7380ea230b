"""Long work in compiled code that can be ended."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from privacyfunnel.numeric.stopping import attentive
from processes import PATIENCE

LONG = """
import sys
import numpy as np
from scipy.sparse import eye_array, random_array
from scipy.sparse.linalg import splu
from privacyfunnel.numeric import stopping
stopping.listen()
n = 9_000
A = (random_array((n, n), density=5 / n, rng=np.random.default_rng(0)) + eye_array(n)).tocsc()
print("begun", flush=True)
try:
    stopping.attentive(lambda: splu(A))
    print("done", flush=True)
except (KeyboardInterrupt, stopping.Stopped):
    stopping.leave(stopping.exit_code())
"""
SOON = 20
"""Seconds in which a process that was told to end does so, even on a busy machine; the work takes minutes."""


@pytest.mark.skipif(os.name != "posix", reason="these are signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_factorisation_that_is_ended_ends_soon(name):
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(1)
    process.send_signal(getattr(signal, name))
    rest, _ = process.communicate(timeout=SOON)
    assert "done" not in rest
    assert process.returncode == 128 + getattr(signal, name)


def test_work_in_another_thread_gives_what_it_finds_and_raises_what_it_meets():
    assert attentive(lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        attentive(lambda: 1 / 0)


def test_threads_that_hear_no_signals_do_the_work_themselves():
    found = []
    worker = threading.Thread(target=lambda: found.append(attentive(threading.current_thread) is worker))
    worker.start()
    worker.join(PATIENCE)
    assert found == [True]
