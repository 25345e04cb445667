"""The memory at work: what is due, and who does it."""
