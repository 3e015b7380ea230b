"""Random bits from the operating system, and the kernel that draws released rows with exact probabilities."""
