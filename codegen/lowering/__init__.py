"""Schedule -> plain kernels and the host's loops around them, nothing clever."""
