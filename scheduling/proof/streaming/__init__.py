"""The proof that kernels which run several iterations of a time loop compute what the source does (ir/stream_plan.py).

It asks isl only about single accesses: which instance, so many iterations before, made the value of the cell so far
away. That holds for all iterations and cells, whatever the number of iterations of a kernel is. Boxes, planes, slots
and versions of arrays are compared as integers.
"""
