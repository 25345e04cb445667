"""Models: a small protocol, Anthropic, the embedded local model, prices."""
