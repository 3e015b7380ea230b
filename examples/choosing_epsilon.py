"""I am a data steward: which ε should I promise, and what does it cost?

python examples/choosing_epsilon.py
"""

import math

import pandas as pd

import privacyfunnel as pf
from privacyfunnel.population import people

table = pd.DataFrame(people(20_000, seed=1))
bins = {"height": 4, "weight": 6}
joint = pf.Joint.from_table(table, secret="obese", attributes=["sex", "height", "weight"], bins=bins)
share = joint.p_s[list(joint.secret_values).index("yes")]
print(f"{share:.1%} of all people are obese. Who sees a released row, and which person it is, believes afterwards:")

curve = pf.tradeoff(joint, pf.LIP, [0.02, 0.05, 0.1, 0.2, 0.5, 1.0], gap=1e-3)
print("   ε   from     to   kept of the columns")
for point in curve.points:
    low, high = share * math.exp(-point.epsilon), min(1.0, share * math.exp(point.epsilon))
    print(f"{point.epsilon:4}  {low:5.1%}  {high:5.1%}   {point.utility / joint.entropy:6.1%}")

# The strictest promise that still keeps 85% of what the columns tell.
enough = next((point for point in curve.points if point.utility >= 0.85 * joint.entropy), None)
if enough is None:
    print("None of them keeps 85%; take fewer columns or coarser bins.")
else:
    print(f"ε = {enough.epsilon} is the smallest that keeps 85%. {enough.protocol.notion.words()}")
    print("Checked in whole numbers:", pf.certify(enough.protocol, joint).reason)
