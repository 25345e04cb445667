"""The memory page: pure functions from what was read to one self-contained HTML file."""
