"""I am an analyst with a released table and its protocol: what was in the original one?

python examples/estimating.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

import privacyfunnel as pf
from privacyfunnel.population import people

with TemporaryDirectory() as folder:
    # What the publisher did. The analyst never sees `original`; it is here to compare with.
    original = pd.DataFrame(people(30_000, seed=3))
    joint = pf.Joint.from_table(original, secret="obese", attributes=["town", "sex"])
    pf.optimise(joint, pf.LIP(0.05)).save(Path(folder, "protocol.json"))
    pf.Protocol.load(Path(folder, "protocol.json")).sanitise(original, Path(folder, "open.csv"))

    # What the analyst does.
    protocol = pf.Protocol.load(Path(folder, "protocol.json"))
    found = pf.estimate(Path(folder, "open.csv"), protocol, of="town")

print("town          counted   estimated   95% from     to   in truth")
for row in found.table("town").estimates:
    towns = [value for (value,) in row.values]  # more than one where the rows cannot tell them apart
    truth = original["town"].isin(towns).mean()
    name = " or ".join(towns)
    if row.share is None:
        print(f"{name:12}  {row.counted:7.1%}   the released rows do not tell          {truth:8.1%}")
    else:
        print(f"{name:12}  {row.counted:7.1%}  {row.share:10.1%}  {row.low:9.1%}  {row.high:5.1%}   {truth:8.1%}")
print("Counting released rows is biased; the protocol says how they were drawn, and so how to undo it.")
