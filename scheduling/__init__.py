"""Scops in, proven schedules out."""
