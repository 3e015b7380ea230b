"""What is promised: limits on what a released row may tell, for whom, and over which distributions."""
