"""Checks kernels of time tiles, as a certificate says what they do: problems.py, by the shape of the tile."""
