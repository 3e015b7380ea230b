"""kill -9 while people are released again and again: nothing of the ledger is lost, and no half line counts."""

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
import sys
import privacyfunnel as pf
folder, protocol = sys.argv[1], pf.Protocol.load(sys.argv[1] + "/protocol.json")
again = {"remember": folder + "/people.key", "person": "id", "keep_order": True, "force": True}
print("ready", flush=True)
for k in range(10**6):
    table = folder + ("/people.csv", "/later.csv")[k % 2]
    protocol.sanitise(table, folder + f"/open{k % 2}.csv", **again)
    print(k, flush=True)
"""


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
    moments, told, torn, digests, outputs = random.Random(1), 0, 0, (), {}
    for _ in range(KILLS):
        command = [sys.executable, "-c", RELEASES, str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=unwatched())
        assert process.stdout.readline() == b"ready\n"
        time.sleep(moments.uniform(0, 1.0))
        process.send_signal(signal.SIGKILL)
        told += process.communicate(timeout=PATIENCE)[0].count(b"\n")
        ledger = open_ledger(folder / "people.key")
        torn += ledger.lines.torn > 0
        assert ledger.lines.digests[: len(digests)] == digests or not digests  # what was written stays
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
    assert told > 0
    assert len(outputs) == 2
    final = pf.Protocol.load(folder / "protocol.json").sanitise(
        folder / "people.csv", folder / "last.csv", remember=folder / "people.key", person="id", keep_order=True
    )
    assert (folder / "last.csv").read_bytes() == outputs[0]
    assert final.remembered.new == 0
