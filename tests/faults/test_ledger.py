"""kill -9 while people are released again and again: nothing of the ledger is lost, and no half line counts."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.tables.remembered.ledger import open_ledger
from processes import PATIENCE, unwatched

KILLS = 36
ROWS = 3000
RELEASES = """
import os, sys
import gc
import privacyfunnel as pf
folder, protocol = sys.argv[1], pf.Protocol.load(sys.argv[1] + "/protocol.json")
first = {"remember": folder + "/first.key", "person": "id"}
protocol.sanitise(folder + "/people.csv", folder + "/first.csv", **first)  # so that everything is loaded
gc.collect()

def again_and_again():
    again = {"remember": folder + "/people.key", "person": "id", "keep_order": True, "force": True}
    for k in range(10**6):
        protocol.sanitise(folder + ("/people.csv", "/later.csv")[k % 2], folder + f"/open{k % 2}.csv", **again)
        os.write(done, b"x")

for line in sys.stdin:
    read, done = os.pipe()
    child = os.fork()
    if not child:
        again_and_again()
    os.close(done)
    print(child, flush=True)
    sys.stdin.readline()  # it was killed
    os.waitpid(child, 0)
    print(len(os.read(read, 10**6)), flush=True)
    os.close(read)
"""
LONGEST = 1.2
"""Seconds that releases go on before they are killed: a few of them, on a busy machine."""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(ROWS), "town": rng.choice(list("ABCD"), ROWS)})
    table["ill"] = np.where(rng.random(ROWS) < 0.2 + 0.2 * (table.town == "A"), "yes", "no")
    table.to_csv(tmp_path / "people.csv", index=False)
    later = table.assign(town=np.where(table.id < 500, "B", table.town), id=table.id + 100)
    later.to_csv(tmp_path / "later.csv", index=False)
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", ["town"]), pf.LIP(0.1), objective="faithful")
    with pytest.warns(pf.errors.ExactFit):
        protocol.save(tmp_path / "protocol.json")
    return tmp_path


@pytest.mark.long
def test_kill_9_at_random_moments_loses_nothing_of_the_ledger(folder):
    moments, told, digests, outputs = random.Random(1), 0, (), {}  # noqa: S311 - when, not what
    command = [sys.executable, "-c", RELEASES, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=unwatched(), text=True) as parent:

        def answer():
            parent.stdin.write("next\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        for _ in range(KILLS):
            child = answer()
            time.sleep(moments.uniform(0, LONGEST))
            os.kill(child, signal.SIGKILL)
            told += answer()
            ledger = open_ledger(folder / "people.key")
            assert ledger.lines.digests[: len(digests)] == digests  # what was written stays
            digests = ledger.lines.digests if ledger.releases else ()
            assert len(ledger.releases) >= told  # every release that came to its end is there
            ledger.verify()
            for k in range(2):
                path = folder / f"open{k}.csv"
                if path.exists():  # an output that is there is whole, the same as ever, and the ledger knows of it
                    data = path.read_bytes()
                    assert data == outputs.setdefault(k, data)
                    assert data.count(b"\n") == ROWS + 1
                    assert ledger.releases
        parent.stdin.close()
        parent.wait(timeout=PATIENCE)
    assert told > KILLS // 4
    assert len(outputs) == 2
    final = pf.Protocol.load(folder / "protocol.json").sanitise(
        folder / "people.csv", folder / "last.csv", remember=folder / "people.key", person="id", keep_order=True
    )
    assert (folder / "last.csv").read_bytes() == outputs[0]
    assert final.remembered.new == 0
