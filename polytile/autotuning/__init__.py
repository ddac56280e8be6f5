"""Tuning by measurement: which of the kernels that a program may have is fastest on this GPU.

A *space* has a point for each combination of choices that a strategy may be asked for; a *search* says which point
comes next; an *evaluator* compiles, proves, validates and times it; a *record* keeps what came out, so that nothing is
measured twice. Generation and auto-tuning follow Zhang, Mueller: Auto-generation and auto-tuning of 3D stencil codes
on GPU clusters (CGO 2012), sections 3 and 4.
"""
