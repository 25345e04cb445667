"""Search messages, observations and memories, and recall passages for a turn."""
