"""The source paper's own methods and experiments, to compare with."""
