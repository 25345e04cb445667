"""Language models: the protocol, the Messages API, a local model, prices."""
