"""The same people again: the key of their draws, who was released before, and the ledger of what that comes to."""
