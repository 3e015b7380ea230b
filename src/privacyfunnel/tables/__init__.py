"""From files and frames to counts, and from rows to released rows."""
