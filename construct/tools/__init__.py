"""Tools from outside: MCP servers that the user configured, and the guard before each call."""

MCP_JSON = "mcp.json"
"""The file in the configuration directory that lists the servers."""
