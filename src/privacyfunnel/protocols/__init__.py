"""What is published: an exact channel, how values are read and written, and the file that holds both."""
