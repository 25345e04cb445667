"""The memory page: pure functions from what was read to one HTML file."""
