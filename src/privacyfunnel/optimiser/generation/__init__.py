"""Column generation for any promise: posteriors that undercut their price, and the proof that none is left."""
