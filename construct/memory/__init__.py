"""Observations, reflections, recall: what is remembered, and what the model is shown."""
