"""Running programs: the sequential reference, the emulator, the GPU, and the comparison of what they computed."""
