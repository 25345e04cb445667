"""The doors for other programs, imported by their commands alone."""
