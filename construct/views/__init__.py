"""Turn data into rich renderables, text or JSON, for the chat and the command line."""
