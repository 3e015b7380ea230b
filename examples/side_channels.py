"""I am a researcher: what is the best channel, and does it hold against somebody who knows an attribute already?

python examples/side_channels.py
"""

import math

import numpy as np

import privacyfunnel as pf

# Height alone says little about being obese, but not to those who know the weight.
well = [[40, 45], [8, 30]]  # people by weight (light, heavy) and height (short, tall)
obese = [[4, 1], [24, 8]]
joint = pf.Joint(np.array([well, obese]), attributes=["weight", "height"], secret_values=["no", "yes"])

plain = pf.optimise(joint, pf.LIP(0.3))
print("The best 0.3-LIP channel Q[y, x] = P(y|x), x = (weight, height):")
print(np.round(plain.channel, 3))
print(f"It keeps {plain.utility:.4f} nats of {joint.entropy:.4f}; no channel keeps more than {plain.upper_bound:.4f}.")

# The optimum of a symmetric binary case is known by hand: randomised response, with P(y = x) = e^ε / (1 + e^ε) for LDP.
fair = pf.Joint([[1, 0], [0, 1]])
known = math.exp(0.3) / (1 + math.exp(0.3))
print(f"By hand {known:.6f}, found {pf.optimise(fair, pf.LDP(0.3)).channel.max():.6f}")

print("\nWhat each attacker's belief can rise to, as a factor (promised: 1.35):")
guarded = pf.optimise(joint, pf.SRLIP(0.3))
for name, protocol in (("LIP", plain), ("SRLIP", guarded)):
    for attacker in pf.attack(joint, protocol, known=1).attackers:
        knows = " and ".join(attacker.known) or "nothing"
        print(f"  {name:5}  knows {knows:7}  ×{float(attacker.rise):.3f}")
print(f"Guarding against them all costs {plain.utility - guarded.utility:.4f} nats of {plain.utility:.4f}.")
print("Certified, in whole numbers:", pf.certify(guarded, joint).reason)
