"""Recipes: everything that is done to a table, in one file that people review, and the commands that it stands for."""
