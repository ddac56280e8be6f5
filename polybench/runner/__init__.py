"""Running the benchmark programs: what `python -m polybench` does."""
