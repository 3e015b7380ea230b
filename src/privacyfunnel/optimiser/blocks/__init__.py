"""Products of protocols for blocks of attributes, kept to one promise together."""
