"""What the reader of a released table can estimate, from it and the published protocol alone."""
