"""Kernels of stream plans."""
