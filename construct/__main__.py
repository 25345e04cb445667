"""Makes `python -m construct` run `construct`."""

from construct.cli import main

main()
