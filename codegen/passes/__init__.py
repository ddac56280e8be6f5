"""Transformations of kernels, one a file: each takes a kernel or statements and gives new ones."""
