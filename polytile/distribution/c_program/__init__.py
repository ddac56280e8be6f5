"""C for mpicc: the program that runs a distribution plan on all ranks, with kernels that the pipeline has compiled."""
