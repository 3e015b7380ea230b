"""The command `funnel`: parse, call, render. Nothing is computed here."""
