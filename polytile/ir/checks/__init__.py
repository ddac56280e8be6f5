"""What holds of every kernel, one concept a file; ir/check_kernel.py calls them."""
