"""Memory cycles: what is due, and what runs it."""
