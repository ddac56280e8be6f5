"""Overlapped tiles of several iterations of a time loop, which stream over planes."""
