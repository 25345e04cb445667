"""How a file says that it is ours, and of which version.

Apart, so that a look costs no import.
"""

APPLICATION_ID = 0x43_4E_53_54  # "CNST"
SCHEMA_VERSION = 10
"""The number of migrations in schema.py; a test holds them together."""
