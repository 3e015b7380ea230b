"""Rules for models with millions of combinations: which share of which values is redrawn, so that few cells change."""
