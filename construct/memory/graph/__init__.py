"""Extract entities and relations from notes, store them and query them."""
