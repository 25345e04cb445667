"""Tools from outside: MCP servers that the user configured, and the guard before each call."""
