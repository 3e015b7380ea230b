"""A few secrets: extreme posteriors have few values, and all of them can be swept through."""
