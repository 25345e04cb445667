"""Lets `python -m construct` run the same as `construct`."""

from construct.cli import main

main()
