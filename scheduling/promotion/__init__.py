"""Where data live inside kernels, and how they get there."""
