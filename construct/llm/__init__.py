"""Models: the protocol, the Messages API, servers, a local model, embedding, prices."""
