"""Publishing: one folder that a data portal takes as it is, with a released table, its protocol and what they mean."""
