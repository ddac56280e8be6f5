"""Kernels that are damaged on purpose, to see whether validation notices."""
