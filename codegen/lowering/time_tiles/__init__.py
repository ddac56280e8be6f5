"""Kernels of time tiles, a folder for each shape, and what shapes share: rings of registers, what warps show each
other, bodies of statements, and what isl knows of the cells that these write."""
