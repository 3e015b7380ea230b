"""Arithmetic and the machine: exact fractions, entropies, compiled loops, cores and signals."""
