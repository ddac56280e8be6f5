"""PolyBench kernels as C programs, for the tests and the measurements (see polybench/README.md)."""
