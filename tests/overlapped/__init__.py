"""Stencils that are iterated in time in overlapped tiles, in the emulator: known forms, random ones, schedule files."""
