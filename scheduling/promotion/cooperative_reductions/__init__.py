"""Combinations of partial results, by the threads that hold them: shuffles in place of arrays and barriers."""
