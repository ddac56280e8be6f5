"""Reductions in partial results."""
