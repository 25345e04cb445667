"""A page about one's memory: pure functions from what was read to HTML that holds everything by itself."""
