"""Protocols for millions of combinations: a model, a rule, and the groups that everybody recomputes from them."""
