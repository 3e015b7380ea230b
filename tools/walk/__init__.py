"""The walk: everything a steward does, on real tables with few, some, many and all columns, in shell and browser."""
