"""Scop -> schedules with blocks and threads."""
