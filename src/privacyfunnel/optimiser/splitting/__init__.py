"""Thousands of values and many attackers: p_x is taken apart in two, and each part again, by small programs."""
