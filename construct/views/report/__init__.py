"""Turn everything that is remembered into one HTML page, the memory page."""
