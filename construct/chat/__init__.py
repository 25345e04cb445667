"""The interactive loop: input and keys, commands, streaming Markdown, views."""
