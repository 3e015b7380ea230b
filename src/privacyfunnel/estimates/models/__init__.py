"""Models: regressions from released rows, with standard errors that know how these rows were drawn."""
