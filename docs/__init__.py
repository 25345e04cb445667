"""The documentation, and the scripts that generate parts of it from the program."""
