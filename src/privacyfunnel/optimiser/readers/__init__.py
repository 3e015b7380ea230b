"""Readers of any table: of the protocols that keep nearly all information, the one with the sharpest estimates."""
