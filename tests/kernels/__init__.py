"""Kernels that are built in the kernel language by hand, and what they share."""
