"""The proof that kernels of time tiles compute what the source does: an entry, prove.py, and a lemma for each shape.

That of overlapped tiles asks isl only about single accesses: which instance, so many iterations before, made the value
of the cell so far away. That holds for all iterations and cells, whatever the number of iterations of a kernel is.
Boxes, planes, slots and versions of arrays are compared as integers.
"""
