"""Reductions over lanes, chunks and blocks: hand-written mapped trees, run in the emulator."""
