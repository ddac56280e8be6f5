"""Scop -> Scop: changes of statements and storage that free parallel loops."""
