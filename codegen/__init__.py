"""Mapped schedules in, kernels and text out."""
