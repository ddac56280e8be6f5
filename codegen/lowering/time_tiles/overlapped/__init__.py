"""Kernels of overlapped tiles: several iterations of a time loop at once, over streamed planes."""
