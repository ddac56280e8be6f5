"""Searches: which point of a space is evaluated next."""
