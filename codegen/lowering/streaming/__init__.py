"""Kernels of stream plans: several iterations of a time loop at once, in overlapped tiles over streamed planes."""
