"""CUDA text: kernels, entry points, device functions."""
