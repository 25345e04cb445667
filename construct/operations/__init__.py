"""What a user can do: one plain function each, for every door. Knows no terminal."""
