"""Kernels and host programs as text."""
