"""The interactive chat: the prompt, slash commands, output, work in the background."""
