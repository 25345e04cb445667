"""What a user can do, one plain function each. Knows no terminal.

The command line, the chat, and the servers for other programs (MCP, HTTP) call these.
"""
