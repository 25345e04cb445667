"""The documentation, and the scripts that make the parts of it that come out of the program."""
