"""Turn data into rich renderables, text, JSON or HTML, for people and for programs."""
