"""The best protocol for a promise: the front doors, which ask each way of searching in turn."""
