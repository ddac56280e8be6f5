"""Kernels of split tiles: tiles of time and space whose values are in the registers of a block."""
