"""The studio: the way from a table to its release, in a browser on the same machine."""
