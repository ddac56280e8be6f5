"""Stencils that are iterated in time under the split schedule, in the emulator: known forms and random ones."""
