"""Construct: a personal companion in your terminal that remembers."""

__version__ = "0.1.0"
