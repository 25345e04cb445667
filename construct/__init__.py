"""Construct: a personal companion you talk to in the terminal, that remembers."""

__version__ = "0.1.0"
