"""What must hold of a kernel, one rule a file."""
