"""The source paper's own methods and experiments, to compare with."""

from privacyfunnel.paper.products import product

__all__ = ["product"]
