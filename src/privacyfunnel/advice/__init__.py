"""Advice for wide tables: which columns carry the secret, and which can be released together, how finely."""
