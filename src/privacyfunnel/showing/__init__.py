"""Showing values in notebooks: a sheet is data, and becomes HTML with small pictures in one place."""
