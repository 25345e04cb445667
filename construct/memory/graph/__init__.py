"""Entities and relations, drawn from memories."""
