"""The best protocol for a promise about every distribution in a confidence set."""
