"""`python -m construct` is `construct`."""

from construct.cli import main

main()
