"""Faithful releases: outputs are values, released rows have the distribution of the original ones."""
