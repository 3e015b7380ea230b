"""Estimates from releases of a model: rows as they stand, and by how much these lean towards it."""
