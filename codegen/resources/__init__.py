"""What kernels take of a multiprocessor: registers, shared memory, occupancy, code."""
