"""Extract entities and relations from memories, store them and query them."""
