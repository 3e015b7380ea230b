"""Two secrets: the best mixture pairs values across a border, in closed form."""
