"""The linear program over posteriors that every search shares: its polytope, its solver, its state, its rounding."""
