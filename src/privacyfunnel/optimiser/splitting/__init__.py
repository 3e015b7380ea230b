"""Thousands of values and many attackers: posteriors are peeled off p_x, the rest is taken apart in two, and again."""
