"""C text: the host file, its header, the sequential reference."""
