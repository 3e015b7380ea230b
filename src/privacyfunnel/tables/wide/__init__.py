"""Wide tables: private models of their columns, and rows that are redrawn by them."""
