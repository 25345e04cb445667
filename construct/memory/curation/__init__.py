"""What is kept by itself, and what its owner may do with it: correct, undo, delete, forget."""
