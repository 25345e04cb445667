"""Observations, reflections, recall: what is remembered, decided by pure functions."""
