"""Servers for other programs (MCP and HTTP), imported only by the commands that start them."""
