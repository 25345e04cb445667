"""Search messages and observations, and recall passages for a turn."""
